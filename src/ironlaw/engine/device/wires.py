"""What ranks do together beside the work of each: collectives run on a stream of their own, one after another.

A sum (all-reduce, reduce-scatter) begins when what it sums up is there; a gather of weights as soon as it is launched. In a backward pass
nobody waits for a sum before the pass ends, which is where DDP and FSDP wait; elsewhere the first op that reads the result does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.uncertainty import Doubt
from ironlaw.engine.device.work import BYTES, COLLECTIVE, RANKS

LOCAL, AT_ONCE, AFTER = 0, 1, 2  # what an op is to the wires: nothing; sent when it is launched; sent when the work before it is done
SUMS = ("all_reduce", "reduce_scatter")
SPREAD = 0.25  # sd of the logarithm: boxes of one kind, and a library's choice of algorithm
COPIES = ("copy", "cast", "cat")
DEPTH = 4  # copies between a weight and the gather of it: a cast, a buffer


def wire_cost(op: Op, hardware: Any, launch: float, fitted: bool) -> Cost | None:
    """None where nobody knows the wires. `fitted`: whether other ops say how sure they are; else this is a bound."""
    known = hardware.wires(op.attrs[COLLECTIVE], int(op.attrs[RANKS]), float(op.attrs[BYTES])) if hardware.wires is not None else None
    if known is None:
        return None
    return Cost(known, 0.0, 0.0, 1.0, launch, doubt=Doubt(SPREAD, "collectives over the box's wires") if fitted else None)


def on_wires(graph: Graph, captured: Graph, costs: Sequence[Cost | None]) -> tuple[list[int], list[int]]:
    """For each op what it is to the wires, and the last op on them that it waits for (-1: none). `costs`: those of collectives;
    `captured`: the graph before anything in it was fused, which knows where its backward passes end."""
    sends, joins = [LOCAL] * len(graph.ops), [-1] * len(graph.ops)
    made: dict[str, Op] = {}
    after = {captured.ops[end].name for end in captured.settings.get("backwards", ()) if end < len(captured.ops)}
    ends = [i for i, op in enumerate(graph.ops) if after.intersection(part.name for part in op.attrs.get("parts", (op,)))]
    for i, (op, cost) in enumerate(zip(graph.ops, costs, strict=True)):
        if cost is not None:
            kind = op.attrs[COLLECTIVE]
            sends[i] = AT_ONCE if kind == "all_gather" and _weights(op, made) else AFTER
            if (last := _reader(graph, i, ends if kind in SUMS else ())) is not None:
                joins[last] = max(joins[last], i)
        for t in op.outputs:
            made[t.name] = op
    return sends, joins


def _weights(op: Op, made: dict[str, Op], depth: int = DEPTH) -> bool:
    """Whether it takes nothing but weights, or copies of them."""

    def held(name: str, role: str) -> bool:
        if role == "weight":
            return True
        before = made.get(name)
        return before is not None and depth > 0 and before.kind in COPIES and _weights(before, made, depth - 1)

    return bool(op.inputs) and all(held(t.name, t.role) for t in op.inputs)


def _reader(graph: Graph, i: int, ends: Sequence[int]) -> int | None:
    """The op that waits for op `i`: where its backward pass `ends`, else the first that reads what it gives."""
    later = bisect_right(ends, i)
    if later < len(ends):
        return ends[later]
    names = {t.name for t in graph.ops[i].outputs}
    return next((j for j in range(i + 1, len(graph.ops)) if names.intersection(t.name for t in graph.ops[j].inputs)), None)
