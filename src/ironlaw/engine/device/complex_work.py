"""How a reader counts the work of complex numbers: a product of two takes four products of their parts. Counters, PyTorch's among them,
take it for one, and so do a graph's own totals."""

from __future__ import annotations

from collections import Counter

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Graph, Op
from ironlaw.formats import PRODUCTS_OF_PARTS, computed_in


def of_parts(op: Op) -> float:
    """How many products of parts one of the op's products is."""
    return 1.0 if computed_in(op.dtype) == op.dtype else PRODUCTS_OF_PARTS


def flops(op: Op) -> Number:
    """All arithmetic of an op, in operations on real numbers."""
    work = op.work
    return work.flops + (of_parts(op) - 1.0) * work.matmul_flops


def product_flops(graph: Graph) -> Number:
    """The arithmetic of a graph's matrix products, in operations on real numbers."""
    return graph.flops + sum((of_parts(op) - 1.0) * points(op.work.matmul_flops) for op in graph.ops if of_parts(op) > 1.0)


def spoken_format(graph: Graph) -> str:
    """The graph's format, or the complex one that most of its products are in."""
    shares: Counter[str] = Counter()
    for op in graph.ops:
        if of_parts(op) > 1.0:
            shares[op.dtype] += int(of_parts(op) * float(points(op.work.matmul_flops)))
    most = shares.most_common(1)
    return most[0][0] if most and most[0][1] > 0.5 * float(product_flops(graph)) else graph.dtype
