"""A layer's products in eight bits, as training stacks run them: operands are brought to the format by kernels beside each product.

A pass ahead rounds what comes in and keeps it the other way round too, for the weight's gradient; the way back rounds what comes back,
both ways round. Scores, norms and the head stay as they are.

NVFP4 has a scale for the whole tensor beside those of its blocks, so its largest number is looked for first, and what is kept the other way
round is turned by a Hadamard matrix, which is a kernel of its own: three reads instead of one (Transformer Engine, csrc/quantizer.cpp).
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op as make_op

PRODUCTS = ("linear", "matmul", "grouped_matmul")
EIGHT = ".rounded"  # how names of kernels that bring operands to the format end
SCALED = "fp4"  # a format whose tensors have a scale as a whole
WIDE = ("logits", "router")  # how names of products begin, or end, that stay


def narrowed(graph: Graph, fmt: str) -> Graph:
    """`graph` with its products in `fmt`; empty: as it is."""
    if not fmt:
        return graph
    ops: list[Op] = []
    for op in graph.ops:
        ops += _narrow(op, fmt) if _taken(op) else [op]
    return replace(graph, ops=tuple(ops))


def _taken(op: Op) -> bool:
    part = op.name.removesuffix(".dx").removesuffix(".dw")
    return op.kind in PRODUCTS and len(op.inputs[0].shape) == 2 and not part.startswith(WIDE) and not part.endswith(WIDE)


def _narrow(op: Op, fmt: str) -> list[Op]:
    """A weight's gradient finds both of its operands rounded already."""
    x, w, *rest = op.inputs
    product = make_op(
        op.kind, op.name, (replace(x, dtype=fmt), replace(w, dtype=fmt), *rest), op.outputs, **{**op.attrs, "dtype": fmt}
    )  # fmt: skip
    if op.name.endswith(".dw"):
        return [product]
    rounded = Tensor(f"{op.name}{EIGHT}", x.shape, fmt)
    turned = Tensor(f"{op.name}.turned", tuple(reversed(x.shape)), fmt)
    if fmt == SCALED:
        largest = make_op("amax", f"{op.name}.largest{EIGHT}", (x,), (Tensor(f"{op.name}.largest", (1,), x.dtype),))
        casts = [make_op("cast", f"{each.name}{end}", (x,), (each,)) for each, end in ((rounded, ""), (turned, EIGHT))]
        return [largest, *casts, product]
    return [make_op("cast", rounded.name, (x,), (rounded, turned)), product]
