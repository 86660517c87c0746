"""ATen op -> engine op kind: the tables, and for what no table can say, one small function each.

A function gets the call (its tensors in and out, its arguments by name) and gives a Row, or several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ironlaw.tracing.tables import BINARY, FILLS, LOOKUPS, MOVES, ROUTES, UNARY


@dataclass
class Call:
    """One ATen call: tensors as the engine sees them, and every argument by its name in the schema."""

    name: str  # aten::add_ -> "add"
    inputs: list[Any]  # engine Tensors, in order
    outputs: list[Any]
    arguments: dict[str, Any]  # with the real (fake) tensors in it
    tensor: Callable[[Any], Any]  # fake tensor -> engine Tensor
    inplace: bool = False


@dataclass
class Row:
    """What becomes an engine op."""

    kind: str
    inputs: list[Any]
    outputs: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Call], "Row | list[Row]"]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def reshaped(tensor: Any, *shape: int) -> Any:
    return type(tensor)(tensor.name, tuple(shape), tensor.dtype, tensor.role)


def translate(call: Call) -> list[Row]:
    """Nothing: free. An op that no table knows becomes kind "unknown"."""
    name = call.name
    if name in RULES:
        found = RULES[name](call)
        return found if isinstance(found, list) else [found]
    out = call.outputs[:1]
    if name in UNARY:
        return [Row(UNARY[name], call.inputs[:1], out)]
    if name in BINARY:
        pair = BINARY[name]
        return [Row(pair[0] if len(call.inputs) > 1 else pair[1], call.inputs, out)]
    if name in FILLS:
        return [Row("fill", [], out)]
    if name in MOVES:
        return [Row(MOVES[name], call.inputs, out)]
    if name in LOOKUPS:
        return [Row("gather", call.inputs[:2], out)]
    if name in ROUTES:
        return [Row(ROUTES[name], call.inputs, call.outputs)]
    if name.startswith(("_foreach_", "_fused_adam", "_fused_sgd")):
        return [Row("foreach", call.inputs, call.outputs)]
    if name.endswith("_backward") and call.inputs and len(call.outputs) == 1:
        return [Row("mul", call.inputs, out)]
    return [Row("unknown", call.inputs, call.outputs, {"aten": name})]


# ---- matrix products


def product(x: Any, w: Any, out: Any, bias: list[Any]) -> Row:
    """x [m, k] times w [k, n]: a linear layer where w is a weight, whichever way it lies in memory."""
    if w.role == "weight":
        return Row("linear", [x, reshaped(w, w.shape[1], w.shape[0]), *bias], [out])
    return Row("matmul", [x, w, *bias], [out])


@rule("mm", "_int_mm", "_scaled_mm")
def mm(call: Call) -> Row:
    return product(call.inputs[0], call.inputs[1], call.outputs[0], [])


@rule("addmm")
def addmm(call: Call) -> Row:
    return product(call.inputs[1], call.inputs[2], call.outputs[0], [call.inputs[0]])


@rule("bmm")
def bmm(call: Call) -> Row:
    return Row("bmm", call.inputs, call.outputs)


@rule("baddbmm")
def baddbmm(call: Call) -> list[Row]:
    """What is added to is copied into the output first."""
    out = call.outputs[0]
    before = type(out)(f"{out.name}:before", out.shape, out.dtype)
    return [Row("copy", call.inputs[:1], [before]), Row("bmm", [*call.inputs[1:3], before], [out])]


@rule("mv", "dot", "addmv", "vdot")
def vectors(call: Call) -> Row:
    x, y = (call.inputs[-2], call.inputs[-1])
    rows, depth = x.shape if len(x.shape) == 2 else (1, x.shape[0])
    return product(reshaped(x, rows, depth), reshaped(y, depth, 1), reshaped(call.outputs[0], rows, 1), [])


@rule("linear")
def linear(call: Call) -> Row:
    return Row("linear", call.inputs, call.outputs)


@rule("_grouped_mm")
def grouped(call: Call) -> Row:
    x, w = call.inputs[:2]
    return Row("grouped_matmul", [x, reshaped(w, w.shape[0], w.shape[2], w.shape[1])], call.outputs)


# ---- convolutions: 1-D and 3-D ones as 2-D ones with the same arithmetic and bytes


def flat(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    n, c, *space = shape
    return (n, c, 1, space[0]) if len(space) == 1 else (n, c, prod(space[:-1]), space[-1])


@rule("convolution", "_convolution", "cudnn_convolution", "mkldnn_convolution")
def convolution(call: Call) -> Row:
    a = call.arguments
    x, w = (reshaped(t, *flat(t.shape)) for t in call.inputs[:2])
    out = reshaped(call.outputs[0], *flat(call.outputs[0].shape))
    attrs = {
        "stride": int(a["stride"][0]), "groups": int(a["groups"]), "padding": tuple(int(p) for p in a["padding"]),
        "dilation": int(a["dilation"][0]),
    }  # fmt: skip
    if last_channels(a["input"]):
        attrs["layout"] = "nhwc"
    return Row("conv_transpose2d" if a.get("transposed") else "conv2d", [x, w, *call.inputs[2:3]], [out], attrs)


def last_channels(tensor: Any) -> bool:
    import torch

    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return (
        tensor.dim() in formats
        and tensor.shape[1] > 1
        and tensor.is_contiguous(memory_format=formats[tensor.dim()])
        and not tensor.is_contiguous()
    )
