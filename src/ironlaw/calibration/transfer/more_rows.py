"""A product never takes longer than one with more rows: a library could fill the rows up with zeros.

The laws step at tiles, waves and kernels of their own for few rows, and what is carried over from a measured machine brings that machine's
choices along. Where such a step leads down on a machine that nobody measured, it is an artefact. Along a ladder of row counts each product
takes the least that it or a larger one does; between two rungs it takes no less than the one below, no more than the one above.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import op as make_op

PRODUCTS = ("linear", "matmul")
RUNGS = tuple(sorted([2**i for i in range(12)] + [3 * 2**i for i in range(10)]))  # 1, 2, 3, 4, 6, … 2,048 rows; tiles are full beyond
KEPT = 1024  # ladders that are remembered


@dataclass
class Ladders:
    """The ladders of the products that were asked for, of one machine."""

    machine: Hardware | None = None
    known: dict[Any, tuple[Cost, ...]] = field(default_factory=dict)

    def no_longer(self, cost: Callable[[Op], Cost], op: Op, machine: Hardware, plan: Plan) -> Cost:
        """The op's cost, held between those of the rungs below and above its rows."""
        if machine is not self.machine:
            self.machine = machine
            self.known.clear()
        own, rows = cost(op), rows_of(op)
        if rows is None or rows > RUNGS[-1]:
            return own
        shapes = op.inputs[0].shape[-1], op.inputs[1].shape, op.outputs[0].shape[-1]
        key = op.kind, shapes, _formats(op), tuple(op.attrs.items()), plan.lowering, plan.fp32
        try:
            ladder = self.known.get(key)
        except TypeError:  # an attribute that can't be a key
            return own
        if ladder is None:
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[key] = ladder = _least([cost(_with_rows(op, rung)) for rung in RUNGS])
        below, above = ladder[bisect_right(RUNGS, rows) - 1], ladder[bisect_left(RUNGS, rows)]
        held = max(min(own, above, key=_seconds), below, key=_seconds)
        return replace(own, data=held.data, compute=held.compute, floor=held.floor, joint=held.work)


def rows_of(op: Op) -> float | None:
    """How many rows a product with one weight has; None of any other op, and where sizes are swept."""
    if op.kind not in PRODUCTS or len(op.inputs[1].shape) != 2:
        return None
    sizes = [points(size) for t in (*op.inputs, op.outputs[0]) for size in t.shape]
    if not all(isinstance(size, (int, float)) for size in sizes):
        return None
    return float(op.outputs[0].size) / float(op.outputs[0].shape[-1])


def _with_rows(op: Op, rows: int) -> Op:
    x, *rest = op.inputs
    return make_op(op.kind, op.name, (_as(x, rows), *rest), (_as(op.outputs[0], rows),), **op.attrs)


def _as(t: Tensor, rows: int) -> Tensor:
    return replace(t, shape=(rows, t.shape[-1]))


def _formats(op: Op) -> tuple[str, ...]:
    return op.dtype, *(t.dtype for t in (*op.inputs, *op.outputs))


def _least(costs: list[Cost]) -> tuple[Cost, ...]:
    """For each, the one that takes least of it and all after it."""
    least = costs[-1:]
    for one in reversed(costs[:-1]):
        least.append(min(one, least[-1], key=_seconds))
    return tuple(reversed(least))


def _seconds(cost: Cost) -> float:
    return float(points(cost.work) + points(cost.floor))
