"""Rules for factorisations and solves of batches of small matrices, for choosing by a mask and for suppressing boxes: small kernels one
after the other. No kind describes them; each stands in for products of the same matrices, and says so."""

from __future__ import annotations

from math import prod
from typing import Any

from ironlaw.engine.device.work import STAND_IN
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar, reshaped

RULES: dict[str, Rule] = {}
rule = registrar(RULES)
# Launches beside a copy: setting up, factorising, swapping rows, two triangular solves. After profiles on an H200. Inverses, determinants,
# QR, eigenvalues and singular values were not profiled, and stay unknown.
PRODUCTS = {
    "linalg_cholesky_ex": 2, "cholesky_solve": 2, "linalg_solve_triangular": 1, "triangular_solve": 1, "_linalg_solve_ex": 4,
    "linalg_lu_factor_ex": 1, "linalg_lu_solve": 3,
}  # fmt: skip


@rule(*PRODUCTS)
def solved(call: Call) -> list[OpDraft]:
    a = max(call.inputs, key=lambda t: t.shape[-1] * t.shape[-2] if len(t.shape) > 1 else 0)
    n, batch = a.shape[-2], prod(a.shape[:-2])
    square, out = reshaped(a, batch, n, a.shape[-1]), call.outputs[0]
    mark: dict[str, Any] = {STAND_IN: call.name}
    copy = type(out)(f"{out.name}:copy", square.shape, a.dtype)
    count = PRODUCTS[call.name]
    steps = [type(out)(f"{out.name}:{i}", (batch, n, n), a.dtype) for i in range(count - 1)] + [out]
    drafts = [OpDraft("copy", [square], [copy], mark)]
    return drafts + [OpDraft("bmm", [reshaped(copy, batch, n, n)] * 2, [reshaped(t, batch, n, n)], mark) for t in steps]


@rule("diag_embed", "diagonal_backward")
def on_diagonal(call: Call) -> list[OpDraft]:
    """Zeros, then the values."""
    out = call.outputs[0]
    zeros = type(out)(f"{out.name}:zeros", out.shape, out.dtype)
    attrs: dict[str, Any] = {"how": "copy", "touched": float(call.inputs[0].size), "inplace": True}
    return [OpDraft("fill", [], [zeros]), OpDraft("write", [zeros, *call.inputs], [out], attrs)]


@rule("nonzero")
def nonzero(call: Call) -> list[OpDraft]:
    return places(call.inputs[0], call.outputs[0])


def places(x: Any, out: Any) -> list[OpDraft]:
    """Where a mask is true: counted, brought to the host, then written one behind the other."""
    count = type(out)(f"{out.name}:count", (1,), "int64")
    place = type(out)(f"{out.name}:place", x.shape, "int32")
    mark: dict[str, Any] = {STAND_IN: "nonzero"}
    row = reshaped(x, x.size)
    return [
        OpDraft("sum", [x], [count], {"over": "all"}), OpDraft("copy", [count], [count], mark),
        OpDraft("cumsum", [row], [place], mark), OpDraft("gather", [x, place], [out], {"how": "elements"}),
    ]  # fmt: skip


@rule("torchvision::nms")
def suppressed(call: Call) -> list[OpDraft]:
    """Sorted by score, every pair of boxes compared, then one thread goes through the sorted boxes."""
    boxes, scores = call.inputs[:2]
    out, n = call.outputs[0], boxes.shape[0]
    order, pairs, kept = (type(out)(f"{out.name}:{name}", shape, dtype) for name, shape, dtype in
                          (("order", (n,), "int64"), ("pairs", (n, n), "bool"), ("kept", (n,), "int64")))  # fmt: skip
    mark: dict[str, Any] = {STAND_IN: "nms"}
    return [
        OpDraft("topk", [scores], [reshaped(scores, n), order]), OpDraft("gather", [boxes, order], [boxes]),
        OpDraft("compare", [boxes, boxes], [pairs], mark), OpDraft("cumsum", [pairs], [kept], {"axis": 0} | mark),
        OpDraft("gather", [order, kept], [out], {"how": "elements"}),
    ]  # fmt: skip
