"""How an engine is made to read and multiply the formats that were priced: by an option, a checkpoint that is made first, or not at all.

Options are those of the versions in `registry/engine`. vLLM and SGLang turn a 16-bit checkpoint into FP8 while they load it; TensorRT-LLM
takes only what is stored narrow. For formats that no engine makes on loading, the commands begin with one that writes the checkpoint.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

from ironlaw.engine.device.types import bytes_per_element
from ironlaw.systems.serving.deployments import Deployment

NAMES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
TORCH = {"fp16": "float16", "fp32": "float32"}  # arithmetic that engines must be told; BF16 is what checkpoints say
SCHEMES = {"int8": "W8A16", "int4": "W4A16", "fp4": "NVFP4A16"}  # of LLM Compressor: narrow weights, products in 16 bits
PROGRAM = (
    "from llmcompressor import oneshot; from llmcompressor.modifiers.quantization import QuantizationModifier as Q; "
    'oneshot(model="{source}", recipe=Q(targets="Linear", scheme="{scheme}", ignore=["lm_head", "re:.*gate$"]), output_dir="{made}")'
)
READS = {"vllm": ("int8", "int4", "fp4"), "sglang": ("int8", "int4"), "trtllm": ()}  # of those, what each engine reads
OPTIMIZER = {("fp8", "fp8"): "fp8", ("int4", ""): "int4_awq"}  # Model Optimizer's names of what TensorRT-LLM takes, by weights and products
MARLIN = {
    "vllm": "VLLM_TEST_FORCE_FP8_MARLIN=1",
    "sglang": "SGLANG_FORCE_FP8_MARLIN=1",
}  # FP8 weights in 16-bit products where FP8 could be
CACHE = {"vllm": "fp8", "sglang": "fp8_e4m3"}


@dataclass
class Formats:
    """`model`: the checkpoint to serve. `before`: lines that come first. `settings`: of TensorRT-LLM's file."""

    model: str
    before: list[str] = field(default_factory=list)
    environment: str = ""
    options: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def formats(engine: str, model: str, rig: Deployment) -> Formats:
    told = Formats(model)
    stored, products = rig.model.stored, rig.products
    if stored and rig.weights == stored:
        _as_stored(engine, rig, told)
    elif stored:
        told.before.append(
            f"# {model} is stored in {stored.upper()}, but {rig.weights.upper()} was asked for: name a checkpoint in that format"
        )
    elif rig.weights == "fp8" and engine != "trtllm":
        told.options.append(_option("quantization", "fp8"))
        if not products and "fp8" in rig.hardware.peaks:
            told.environment = MARLIN[engine]
    elif bytes_per_element(rig.weights) < bytes_per_element(rig.dtype):
        _made_first(engine, rig, told)
    elif rig.weights != rig.dtype and bytes_per_element(rig.weights) > bytes_per_element(rig.dtype):
        _cannot(engine, told, f"multiply {rig.weights.upper()} weights in {rig.dtype.upper()}", rig.dtype.upper())
    _cache(engine, rig, told)
    if rig.dtype in TORCH:
        if engine == "trtllm":
            told.settings["dtype"] = TORCH[rig.dtype]
        else:
            told.options.append(_option("dtype", TORCH[rig.dtype]))
    return told


def _as_stored(engine: str, rig: Deployment, told: Formats) -> None:
    """The engine reads from the checkpoint itself how it is stored."""
    if rig.weights == "fp8" and not rig.products:
        if engine == "trtllm":
            _cannot(engine, told, "multiply FP8 weights in 16 bits", "FP8 for both, on GPUs that have it")
        elif rig.model.products and "fp8" in rig.hardware.peaks:
            told.environment = MARLIN[engine]
    elif rig.weights == "fp4" and "fp4" in rig.hardware.peaks:
        told.before.append(
            "# priced with products in 16 bits; an NVFP4 checkpoint is multiplied in FP4 on this GPU, and steps are then shorter"
        )


def _made_first(engine: str, rig: Deployment, told: Formats) -> None:
    """A checkpoint that is written before it is served."""
    source, made = told.model, f"./{told.model.rstrip('/').rsplit('/', 1)[-1]}-{rig.weights.upper()}"
    if engine == "trtllm":
        how = OPTIMIZER.get((rig.weights, rig.products))
        if how is None:
            _cannot(engine, told, f"multiply {rig.weights.upper()} weights in {(rig.products or rig.dtype).upper()}", "weights in 16 bits")
            return
        cache = "fp8" if rig.cache == "fp8" else "none"
        told.before += [
            "# once, in examples/llm_ptq of github.com/NVIDIA/Model-Optimizer: TensorRT-LLM reads narrow weights, but does not make them",
            f"python3 hf_ptq.py --pyt_ckpt_path {shlex.quote(source)} --qformat {how} --kv_cache_qformat {cache}"
            f" --export_path {shlex.quote(made)}",
        ]
    elif rig.weights in READS[engine]:
        told.before += [
            f"# once, with pip install llmcompressor: {NAMES[engine]} reads {rig.weights.upper()} weights, but does not make them",
            f"python3 -c {shlex.quote(PROGRAM.format(source=source, scheme=SCHEMES[rig.weights], made=made))}",
        ]
    else:
        _cannot(engine, told, f"multiply {rig.weights.upper()} weights in 16 bits", "weights in 16 bits")
        return
    told.model = made


def _cache(engine: str, rig: Deployment, told: Formats) -> None:
    if bytes_per_element(rig.cache) == bytes_per_element(rig.dtype):
        return
    if rig.cache != "fp8":
        _cannot(engine, told, f"keep the KV cache in {rig.cache.upper()}", rig.dtype.upper())
    elif engine == "trtllm":
        told.settings["kv_cache_config"] = {"dtype": "fp8"}
    else:
        told.options.append(_option("kv-cache-dtype", CACHE[engine]))


def _option(name: str, value: str) -> str:
    return f"--{name} {value}"


def _cannot(engine: str, told: Formats, what: str, instead: str) -> None:
    told.before.append(f"# {NAMES[engine]} can't {what}; this starts it with {instead}, which is not what was priced")
