"""Products computed in a narrower format than the rest of a graph: both operands in it, sums in the graph's own.

What comes in is brought to the format by a kernel of its own, as serving engines do; the head and a router of experts stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.device.types import Graph, Op, Tensor, bytes_per_element
from ironlaw.engine.device.work import op as make_op

PRODUCTS = ("linear", "grouped_matmul")
WIDE = ("lm_head", "router")  # how names of products end that stay


def narrow_products(graph: Graph, fmt: str) -> Graph:
    """`graph` with its layers' products in `fmt`; empty: as it is."""
    if not fmt:
        return graph
    bytes_per_element(fmt)
    ops: list[Op] = []
    for op in graph.ops:
        if op.kind not in PRODUCTS or op.inputs[1].role != "weight" or op.name.endswith(WIDE):
            ops.append(op)
            continue
        x, weight, *rest = op.inputs
        narrow = Tensor(f"{op.name}.narrow", x.shape, fmt)
        ops.append(make_op("cast", narrow.name, (x,), (narrow,)))
        ops.append(make_op(op.kind, op.name, (narrow, replace(weight, dtype=fmt), *rest), op.outputs, **{**op.attrs, "dtype": fmt}))
    return replace(graph, ops=tuple(ops))
