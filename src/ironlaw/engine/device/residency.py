"""Which bytes reach main memory when a cache stands before it.

A tensor that one op makes and a later one reads need not leave the chip where everything touched from the op that makes it
to the op before the one that reads it fits the cache together (the reuse distance of a least-recently-used cache). Then
neither its write nor its read crosses main memory. The graph's own inputs are read from memory, its outputs end there.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, check_positive


@dataclass(frozen=True, slots=True)
class Residency:
    """Bytes by where they go."""

    ops: tuple[tuple[Number, Number], ...]  # of each op: bytes that cross main memory, bytes that the cache serves

    @property
    def main(self) -> Number:
        return sum(main for main, _ in self.ops)

    @property
    def cache(self) -> Number:
        return sum(held for _, held in self.ops)

    def seconds(self, main_bandwidth: Number, cache_bandwidth: Number) -> tuple[Number, ...]:
        """Time to move each op's bytes, both kinds one after the other."""
        return tuple(main / main_bandwidth + held / cache_bandwidth for main, held in self.ops)


def residency(graph: Graph, cache: float) -> Residency:
    """For one size; a sweep asks point by point."""
    check_positive("cache", cache, zero=True)
    maker = {t.name: i for i, op in enumerate(graph.ops) for t in op.outputs}
    last_user = {t.name: i for i, op in enumerate(graph.ops) for t in op.inputs}
    ops = []
    for i, op in enumerate(graph.ops):
        main = op.work.bytes - sum(op.reads) - sum(op.writes)  # what an op writes and reads back itself
        held = 0.0
        for t, count in zip(op.inputs, op.reads, strict=True):
            if t.name in maker and _distance(graph, maker[t.name], i) <= cache:
                held += count
            else:
                main += count
        for t, count in zip(op.outputs, op.writes, strict=True):
            user = last_user.get(t.name)
            if t.name not in graph.outputs and user is not None and _distance(graph, i, user) <= cache:
                held += count
            else:
                main += count
        ops.append((main, held))
    return Residency(tuple(ops))


def _distance(graph: Graph, first: int, last: int) -> float:
    """Bytes of the distinct tensors that ops first … last − 1 touch."""
    touched = {t.name: float(t.bytes) for op in graph.ops[first:last] for t in (*op.inputs, *op.outputs)}
    return sum(touched.values())


def crossover(graph: Graph) -> Number:
    """The smallest cache in which every intermediate of the graph stays."""
    maker = {t.name: i for i, op in enumerate(graph.ops) for t in op.outputs}
    distances = [_distance(graph, maker[t.name], i) for i, op in enumerate(graph.ops) for t in op.inputs if t.name in maker]
    return max(distances, default=0.0)
