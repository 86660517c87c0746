"""What a config.json's quantization_config says: the format of the stored matrices, and of the products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.errors import BadValue

BITS = {4: "int4", 8: "int8"}
KNOWN = "awq, gptq, bitsandbytes, fp8, fbgemm_fp8, mxfp4, modelopt (FP8, NVFP4), compressed-tensors"


def quantised(config: Mapping[str, Any], experts: bool) -> dict[str, Any]:
    """`stored`, `stored_experts` and `products` of a Decoder; nothing where the checkpoint is not quantised."""
    how = config.get("quantization_config") or config.get("compression_config")
    if not isinstance(how, Mapping) or not how:
        return {}
    method = str(how.get("quant_method", "")).lower().replace("_", "-")
    if method in ("fp8", "fbgemm-fp8"):
        return {"stored": "fp8", "products": "fp8", "scaled": _block(how)}
    if method == "mxfp4":
        return {"stored": "fp4", "stored_experts": experts}
    if method in ("awq", "gptq", "auto-round", "autoround", "intel/auto-round"):
        return {"stored": _integers(how.get("bits", how.get("w_bit", 4)), method)}
    if method in ("bitsandbytes", ""):
        if how.get("load_in_4bit") or how.get("_load_in_4bit"):
            return {"stored": "int4"}
        if how.get("load_in_8bit") or how.get("_load_in_8bit"):
            return {"stored": "int8"}
    if method == "modelopt":
        name = str(how.get("quant_algo") or (how.get("quantization") or {}).get("quant_algo") or "").upper()
        if "NVFP4" in name or "FP4" in name:
            return {"stored": "fp4"}
        if "FP8" in name:
            return {"stored": "fp8", "products": "fp8"}
    if method in ("compressed-tensors", "compressed"):
        return _compressed(how)
    raise BadValue(
        f"the quantization_config says {method or 'no quant_method'!r}, and ironlaw knows {KNOWN}; take the config.json of the"
        " unquantised model and give the format (weights)",
        "weights",
    )


def _block(how: Mapping[str, Any]) -> int:
    """Numbers of a row that share a scale: DeepSeek's and Qwen's checkpoints have one for each block of 128 × 128."""
    size = how.get("weight_block_size")
    return int(size[1]) if isinstance(size, list | tuple) and len(size) == 2 else 0


def _integers(bits: Any, method: str) -> str:
    if bits not in BITS:
        raise BadValue(f"quantization_config: {method} with {bits!r} bits is not known; it can have 4 or 8", "weights")
    return BITS[bits]


def _compressed(how: Mapping[str, Any]) -> dict[str, Any]:
    group: Mapping[str, Any] = next(iter((how.get("config_groups") or {}).values()), {})
    weights, inputs = group.get("weights") or {}, group.get("input_activations")
    bits, kind = weights.get("num_bits"), weights.get("type")
    if kind == "float":
        stored = {8: "fp8", 4: "fp4"}.get(int(bits or 0), "")
        if stored:
            return {"stored": stored, **({"products": "fp8"} if stored == "fp8" and inputs else {})}
    return {"stored": _integers(bits, "compressed-tensors")}
