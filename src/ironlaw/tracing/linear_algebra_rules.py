"""Rules for decompositions and solves of dense matrices, for choosing by a mask and for suppressing boxes.

What a GPU's libraries do inside is the backend's to say (`backends.cuda.solvers`); a rule says which matrices, how many there are and how
many right-hand sides. Their gradients are ATen's own formulas, which capture sees op by op.
"""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.work import STAND_IN
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar, reshaped

RULES: dict[str, Rule] = {}
rule = registrar(RULES)
ALONE = {
    "linalg_cholesky_ex": "cholesky", "cholesky": "cholesky", "linalg_lu_factor_ex": "lu", "linalg_inv_ex": "inverse",
    "_linalg_det": "det", "_linalg_slogdet": "det", "linalg_matrix_exp": "matrix_exp", "geqrf": "triangle",
    "linalg_eig": "eig", "linalg_eigvals": "eigvals", "_linalg_eigvals": "eigvals",
}  # fmt: skip
# with right-hand sides: how, and which of the tensors are the matrices and what they are solved for
WITH_SIDES = {
    "_linalg_solve_ex": ("solve", 0, 1), "linalg_solve_triangular": ("triangular", 0, 1), "triangular_solve": ("triangular", 1, 0),
    "cholesky_solve": ("cholesky_solve", 1, 0), "linalg_lu_solve": ("lu_solve", 0, -1), "linalg_lstsq": ("lstsq", 0, 1),
}  # fmt: skip
VALUES_ONLY = {"_linalg_eigh": ("eigh", "eigvalsh", "compute_v"), "_linalg_svd": ("svd", "svdvals", "compute_uv")}
UNMEASURED = ("eig", "eigvals")  # priced after others, and said so


def decomposed(call: Call, how: str, inputs: list[Any]) -> OpDraft:
    outputs = [t for t in call.outputs if t.size]  # what nobody asked for is empty
    return OpDraft("solver", inputs, outputs, {"how": how} | ({STAND_IN: call.name} if how in UNMEASURED else {}))


@rule(*ALONE)
def by_itself(call: Call) -> OpDraft:
    return decomposed(call, ALONE[call.name], call.inputs[:1])


@rule(*VALUES_ONLY)
def with_or_without_vectors(call: Call) -> OpDraft:
    both, values, wanted = VALUES_ONLY[call.name]
    return decomposed(call, both if call.arguments.get(wanted, True) else values, call.inputs[:1])


@rule("linalg_qr")
def orthogonal(call: Call) -> OpDraft:
    return decomposed(call, "triangle" if call.arguments.get("mode") == "r" else "qr", call.inputs[:1])


@rule(*WITH_SIDES)
def solved(call: Call) -> OpDraft:
    """Sides may be one vector for each matrix, or, where the matrix is on their right, lie across."""
    how, at, sides_at = WITH_SIDES[call.name]
    a, b = call.inputs[at], call.inputs[sides_at if len(call.inputs) > 1 else 0]
    if len(b.shape) == len(a.shape) - 1:
        b = reshaped(b, *b.shape, 1)
    elif call.arguments.get("left") is False:
        b = reshaped(b, *b.shape[:-2], b.shape[-1], b.shape[-2])
    return decomposed(call, how, [a, b])


@rule("cholesky_inverse")
def inverted(call: Call) -> OpDraft:
    """Solved for the columns of the identity."""
    return decomposed(call, "cholesky_solve", [call.inputs[0], call.inputs[0]])


@rule("linalg_lu")
def unpacked(call: Call) -> list[OpDraft]:
    """An LU, whose triangles are then copied apart, and the permutation made a matrix."""
    p, *triangles = call.outputs
    both = type(p)(f"{p.name}:lu", call.inputs[0].shape, call.inputs[0].dtype)
    return [OpDraft("solver", call.inputs[:1], [both], {"how": "lu"})] + [OpDraft("copy", [both], [t]) for t in (*triangles, p)]


@rule("lu_unpack")
def triangles(call: Call) -> list[OpDraft]:
    return [OpDraft("copy", call.inputs[:1], [t]) for t in call.outputs if t.size]


@rule("linalg_pinv")
def pseudoinverse(call: Call) -> list[OpDraft]:
    """As ATen takes it: singular values or eigenvalues, their reciprocals where they are large enough, and a product."""
    a, out = call.inputs[0], call.outputs[0]
    lead, (rows, columns) = a.shape[:-2], a.shape[-2:]
    n = min(rows, columns)

    def made(name: str, *shape: int, dtype: str = out.dtype) -> Any:
        return type(out)(f"{out.name}:{name}", (*lead, *shape), dtype)

    u, values, v = made("u", rows, n), made("values", n), made("v", n, columns)
    large, kept, inverse, scaled = made("large", n, dtype="bool"), made("kept", n), made("inverse", n), made("scaled", columns, n)
    how = "eigh" if call.arguments.get("hermitian") else "svd"
    return [
        OpDraft("solver", [a], [values, u] if how == "eigh" else [u, values, v], {"how": how}), OpDraft("compare", [values], [large]),
        OpDraft("div", [values], [inverse]), OpDraft("select", [large, inverse], [kept]),
        OpDraft("mul", [u if how == "eigh" else reshaped(v, *lead, columns, n), reshaped(kept, *lead, 1, n)], [scaled]),
        OpDraft("bmm" if lead else "matmul", [scaled, reshaped(u, *lead, n, rows)], [out]),
    ]  # fmt: skip


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
