"""A schedule played on wires: when each step ends, where a rank sends and takes in at most β bytes a second.

The steps themselves are the law here, so this and the formulas of `collectives` must agree without knowing of each other.
"""

from __future__ import annotations

from itertools import accumulate

from ironlaw.engine.cluster.schedules import Schedule, Step


def step_ends(
    schedule: Schedule, size: float, alpha: float, beta: float, both_ways: bool = True, switch: int | None = None
) -> tuple[float, ...]:
    """Seconds at which each step is over. `both_ways`: wires are full duplex; else what a rank sends and takes in adds up.

    `switch`: a rank with a port for every other one, whose own wire is never the slowest.
    """
    part = size / schedule.parts
    return tuple(accumulate(alpha + busiest(step, both_ways, switch) * part / beta for step in schedule.steps))


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
