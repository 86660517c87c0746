"""Rules for matrix products and convolutions."""

from __future__ import annotations

from math import prod
from typing import Any

from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar, reshaped
from ironlaw.tracing.memory_layout import convolves_last

RULES: dict[str, Rule] = {}
rule = registrar(RULES)


# ---- matrix products


def product(x: Any, w: Any, out: Any, bias: list[Any]) -> OpDraft:
    """x [m, k] times w [k, n]: a linear layer where w is a weight, whichever way it lies in memory."""
    if w.role == "weight":
        return OpDraft("linear", [x, reshaped(w, w.shape[1], w.shape[0]), *bias], [out])
    return OpDraft("matmul", [x, w, *bias], [out])


@rule("mm", "_int_mm", "_scaled_mm")
def mm(call: Call) -> OpDraft:
    return product(call.inputs[0], call.inputs[1], call.outputs[0], [])


@rule("addmm", "_addmm_activation")
def addmm(call: Call) -> OpDraft:
    return product(call.inputs[1], call.inputs[2], call.outputs[0], [call.inputs[0]])


@rule("bmm")
def bmm(call: Call) -> OpDraft:
    return OpDraft("bmm", call.inputs, call.outputs)


@rule("baddbmm")
def baddbmm(call: Call) -> list[OpDraft]:
    """What is added to is copied into the output first."""
    out = call.outputs[0]
    before = type(out)(f"{out.name}:before", out.shape, out.dtype)
    return [OpDraft("copy", call.inputs[:1], [before]), OpDraft("bmm", [*call.inputs[1:3], before], [out])]


@rule("mv", "dot", "addmv", "vdot")
def vectors(call: Call) -> OpDraft:
    x, y = (call.inputs[-2], call.inputs[-1])
    rows, depth = x.shape if len(x.shape) == 2 else (1, x.shape[0])
    return product(reshaped(x, rows, depth), reshaped(y, depth, 1), reshaped(call.outputs[0], rows, 1), [])


@rule("_euclidean_dist")
def distances(call: Call) -> list[OpDraft]:
    """A product in which the squares of both sides are two more columns (ATen, Distance.cpp)."""
    (a, b), out = call.inputs[:2], call.outputs[0]
    drafts: list[OpDraft] = []

    def made(name: str, *shape: int) -> Any:
        return type(out)(f"{out.name}:{name}", tuple(shape), out.dtype)

    sides = []
    for x, name in ((a, "one"), (b, "other")):
        squares, norms, ones = made(f"{name}2", *x.shape), made(f"{name}_norms", *x.shape[:-1], 1), made(f"{name}_ones", *x.shape[:-1], 1)
        wide = made(name, *x.shape[:-1], x.shape[-1] + 2)
        scaled = made(f"{name}_scaled", *x.shape) if x is a else x
        drafts += [OpDraft("square", [x], [squares]), OpDraft("sum", [squares], [norms], {"over": "row"}), OpDraft("fill", [], [ones])]
        drafts += [OpDraft("scale", [x], [scaled])] if x is a else []
        drafts += [OpDraft("cat", [scaled, norms, ones], [wide])]
        sides.append(wide)
    across = reshaped(sides[1], *b.shape[:-2], b.shape[-1] + 2, b.shape[-2])
    product = made("product", *out.shape)
    drafts.append(OpDraft("bmm" if len(out.shape) > 2 else "matmul", [sides[0], across], [product]))
    positive = made("positive", *out.shape)
    return [*drafts, OpDraft("relu", [product], [positive]), OpDraft("sqrt", [positive], [out])]


@rule("linear")
def linear(call: Call) -> OpDraft:
    return OpDraft("linear", call.inputs, call.outputs)


@rule("_grouped_mm")
def grouped(call: Call) -> OpDraft | list[OpDraft]:
    """Rows times a matrix of their group. In a backward pass also columns times rows of the same group, which gives a matrix for each.

    One kernel in BF16 (ATen/native/cuda/GroupedBlas.cpp). In every other format PyTorch runs a product for each group that has rows; `rows`
    says how many each has.
    """
    x, w = call.inputs[:2]
    if "rows" in call.arguments:
        return one_by_one(call, x, w, call.arguments["rows"])
    if len(x.shape) == len(w.shape) == 3:
        return OpDraft("bmm", [x, w], call.outputs)
    if len(w.shape) == 2 and len(x.shape) == 2:
        groups = call.outputs[0].shape[0]
        return OpDraft("grouped_matmul", [x, reshaped(w, groups, w.shape[1], max(1, round(w.shape[0] / groups)))], call.outputs)
    if len(w.shape) == 2:
        return OpDraft("grouped_matmul", [reshaped(w, w.shape[1], w.shape[0]), x], call.outputs)
    return OpDraft("grouped_matmul", [x, reshaped(w, w.shape[0], w.shape[2], w.shape[1])], call.outputs)


def one_by_one(call: Call, x: Any, w: Any, rows: list[int]) -> list[OpDraft]:
    """[rows, k] times [groups, k, n]; in a backward pass [m, rows] times [rows, n], or [groups, m, k] times [k, rows]."""
    out, used = call.outputs[0], [r for r in rows if r]
    if len(x.shape) == len(w.shape):
        m, n = out.shape[-2:]
        return [OpDraft("matmul", [reshaped(x, m, r), reshaped(w, r, n)], [reshaped(out, m, n)]) for r in used]
    if len(w.shape) == 2:
        _, m, k = x.shape
        return [OpDraft("matmul", [reshaped(x, m, k), reshaped(w, k, r)], [reshaped(out, m, r)]) for r in used]
    _, k, n = w.shape
    return [product(reshaped(x, r, k), reshaped(w, k, n), reshaped(out, r, n), []) for r in used]


# ---- convolutions: 1-D and 3-D ones as 2-D ones with the same arithmetic and bytes


def flat(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    n, c, *space = shape
    return (n, c, 1, space[0]) if len(space) == 1 else (n, c, prod(space[:-1]), space[-1])


@rule("convolution", "_convolution", "cudnn_convolution", "mkldnn_convolution")
def convolution(call: Call) -> OpDraft:
    a = call.arguments
    x, w = (reshaped(t, *flat(t.shape)) for t in call.inputs[:2])
    out = reshaped(call.outputs[0], *flat(call.outputs[0].shape))
    attrs = {
        "stride": int(a["stride"][0]), "groups": int(a["groups"]), "padding": tuple(int(p) for p in a["padding"]),
        "dilation": int(a["dilation"][0]),
    }  # fmt: skip
    if (dims := len(call.inputs[0].shape) - 2) != 2:
        attrs["dims"] = dims  # along a line, or in a volume
    if convolves_last(a["input"], a["weight"]):
        attrs["layout"] = "nhwc"
    return OpDraft("conv_transpose2d" if a.get("transposed") else "conv2d", [x, w, *call.inputs[2:3]], [out], attrs)
