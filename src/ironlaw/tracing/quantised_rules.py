"""Rules for weights stored in integers: PyTorch's own products with them, and the ops that go from one format to the other."""

from __future__ import annotations

from typing import Any, Protocol

from torch.utils._python_dispatch import _disable_current_modes

from ironlaw.engine.device.stored_weights import scales
from ironlaw.engine.device.types import Tensor
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar

RULES: dict[str, Rule] = {}
rule = registrar(RULES)
DYNAMIC = ("linear_dynamic", "linear_relu_dynamic", "linear_dynamic_fp16", "linear_relu_dynamic_fp16")


class OpWriter(Protocol):
    """What a rule that writes its ops itself needs of the recorder."""

    def unique(self, name: str) -> str: ...
    def module(self) -> str: ...
    def made(self, tensor: Any, name: str) -> None: ...
    def tensor(self, tensor: Any) -> Tensor: ...
    def write(self, kind: str, label: str, inputs: list[Any], outputs: list[Any], attrs: dict[str, Any]) -> None: ...


def stored(weight: Any, fmt: str, outputs: int, depth: int) -> Tensor:
    """A packed weight by what it stands for: [outputs, depth] of so many bits."""
    return Tensor(weight.name, (outputs, depth), fmt, "weight" if weight.role == "weight" else weight.role)


def product(call: Call, fmt: str, packed: Any, rest: list[Any]) -> OpDraft:
    x, y = call.inputs[0], call.outputs[0]
    weight = stored(packed, fmt, y.shape[-1], x.shape[-1])
    return OpDraft("quantised_linear", [x, weight, *(rest or [scales(weight, fmt, x.dtype)])], [y], {"kernel": "library"})


@rule("_weight_int8pack_mm")
def int8(call: Call) -> OpDraft:
    return product(call, "int8", call.inputs[1], call.inputs[2:3])


@rule("_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu", "_weight_int4pack_mm_with_scales_and_zeros")
def int4(call: Call) -> OpDraft:
    return product(call, "int4", call.inputs[1], call.inputs[2:3])


@rule("_dyn_quant_matmul_4bit")
def int4_on_arm(call: Call) -> OpDraft:
    """The scales lie inside the packed weight."""
    return product(call, "int4", call.inputs[1], [])


@rule("_convert_weight_to_int4pack", "_convert_weight_to_int4pack_for_cpu", "_dyn_quant_pack_4bit_weight")
def packed(call: Call) -> OpDraft:
    return OpDraft("copy", call.inputs[:1], call.outputs[:1])


@rule(
    "quantize_per_tensor", "quantize_per_channel", "quantize_per_token", "quantize_per_channel_group", "dequantize",
    "dequantize_per_tensor", "dequantize_per_channel", "dequantize_per_token", "dequantize_per_channel_group",
    "fake_quantize_per_tensor_affine_cachemask", "fake_quantize_per_channel_affine_cachemask",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
)  # fmt: skip
def converted(call: Call) -> OpDraft:
    """Scale and shift, element by element; the scales are few."""
    return OpDraft("scale", call.inputs[:1], call.outputs)


def dynamic(recorder: OpWriter, name: str, args: Any) -> Any:
    """torch.ao's dynamically quantised linear layer, whose weight lies in an object that no fake tensor can stand for."""
    x, params = args[0], args[1]
    with _disable_current_modes():
        weight, bias = params.unpack()
    outputs, depth = weight.shape
    out = x.new_empty((*x.shape[:-1], outputs))
    label = recorder.unique(".".join(filter(None, (recorder.module(), name))))
    recorder.made(out, label)
    source, result = recorder.tensor(x), recorder.tensor(out)
    fmt = "fp16" if name.endswith("fp16") else "int8"
    w = Tensor(f"{label} weight", (int(outputs), int(depth)), fmt, "weight")
    more = [] if bias is None else [Tensor(f"{label} bias", (int(outputs),), "fp32", "weight")]
    if fmt == "fp16":
        recorder.write("linear", label, [source, w, *more], [result], {})
    else:
        recorder.write("quantised_linear", label, [source, w, scales(w, fmt, source.dtype), *more], [result], {"kernel": "library"})
    return out
