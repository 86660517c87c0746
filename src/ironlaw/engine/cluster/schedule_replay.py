"""A schedule played on wires: when each step ends, where a rank sends and takes in at most β bytes per second.

The steps themselves are the law here, so this and the formulas of `collectives` must agree without knowing of each other.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from ironlaw.engine.cluster.schedules import Schedule, Step


class Inside(NamedTuple):
    """Nodes of so many ranks with other wires inside: α seconds per step, β bytes per second."""

    per_node: int
    alpha: float
    beta: float

    def holds(self, step: Step) -> bool:
        """Whether nothing in a step leaves its node."""
        return all(send.source // self.per_node == send.target // self.per_node for send in step)


def step_ends(
    schedule: Schedule, size: float, alpha: float, beta: float, both_ways: bool = True, switch: int | None = None,
    inside: Inside | None = None,
) -> tuple[float, ...]:  # fmt: skip
    """Seconds at which each step is over. `both_ways`: wires are full duplex; else what a rank sends and takes in adds up.

    `switch`: a rank with a port for every other one, whose own wire is never the slowest. `inside`: the wires of steps that stay in nodes.
    """
    part = size / schedule.parts
    wires = [(inside.alpha, inside.beta) if inside and inside.holds(step) else (alpha, beta) for step in schedule.steps]
    taken = (
        start + busiest(step, both_ways, switch) * part / rate
        for step, (start, rate) in zip(schedule.steps, wires, strict=True)
    )  # fmt: skip
    return tuple(accumulate(taken))


def addends(schedule: Schedule, n: int, done: int) -> tuple[tuple[int, ...], ...]:
    """After so many steps: of each rank, how many ranks' numbers are in each part of its buffer; n in all of them is the sum."""
    held = [[1] * schedule.parts for _ in range(n)] + [[0] * schedule.parts]  # the last is a switch, which has none of its own
    for step in schedule.steps[:done]:
        before = [list(parts) for parts in held]
        for send in step:
            for part in send.parts:
                held[send.target][part] = before[send.source][part] + (held[send.target][part] if send.add else 0)
    return tuple(tuple(parts) for parts in held[:n])


def busiest(step: Step, both_ways: bool = True, switch: int | None = None) -> int:
    """Parts on the wire of the rank that has most of them to carry."""
    out: dict[int, int] = {}
    into: dict[int, int] = {}
    for send in step:
        out[send.source] = out.get(send.source, 0) + len(send.parts)
        into[send.target] = into.get(send.target, 0) + len(send.parts)
    for ways in (out, into):
        if switch is not None:
            ways.pop(switch, 0)
    if both_ways:
        return max((*out.values(), *into.values()), default=0)
    return max((out.get(rank, 0) + into.get(rank, 0) for rank in {*out, *into}), default=0)
