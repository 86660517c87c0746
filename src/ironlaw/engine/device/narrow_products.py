"""Products computed in a narrower format than the rest of a graph: both operands in it, sums in the graph's own.

What comes in is brought to the format by a kernel of its own, as serving engines do; the head and a router of experts stay as they are.

Where a block of numbers has a scale of its own, matrix units without hardware for it stop after each block: its sum is multiplied by the
scale and added to the sum of all in FP32, outside the matrix units (DeepGEMM and CUTLASS on Hopper).
"""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Graph, Op, Tensor, bytes_per_element
from ironlaw.engine.device.work import op as make_op

PRODUCTS = ("linear", "grouped_matmul")
WIDE = ("lm_head", "router")  # how names of products end that stay
SCALED = "scaled"  # an op's attribute: multiply-adds of one sum between two scales
IN_HARDWARE = "fp4"  # whose blocks have scales: matrix units that know it apply scales themselves


def narrow_products(graph: Graph, fmt: str, scaled: int = 0) -> Graph:
    """`graph` with its layers' products in `fmt`; empty: as it is. `scaled`: numbers of a row that have a scale in common; 0: all."""
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
        attrs = {**op.attrs, "dtype": fmt, **({SCALED: scaled} if scaled else {})}
        ops.append(make_op(op.kind, op.name, (narrow, replace(weight, dtype=fmt), *rest), op.outputs, **attrs))
    return replace(graph, ops=tuple(ops))


def with_scales(op: Op, cost: Cost, hardware: Hardware) -> Cost:
    """A product's cost with a multiply-add outside the matrix units for each block of each sum; what memory hides of the arithmetic, it
    hides of these."""
    block = op.attrs.get(SCALED)
    if not block or IN_HARDWARE in hardware.peaks:
        return cost
    more = op.work.flops / block / float(hardware.vector_peak("fp32"))
    seen = points(cost.compute) / points(cost.work)
    return replace(cost, compute=cost.compute + more, joint=points(cost.work) + more * seen)
