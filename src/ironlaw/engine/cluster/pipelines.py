"""Pipeline schedules: one forward, one backward (1F1B), plain and with stages in pieces; what of the time is bubble.

bubble = (p − 1) / (v·m + p − 1), a share of the step, for m microbatches, p stages, v pieces of each.
"""

from __future__ import annotations

from typing import NamedTuple

from ironlaw.engine.arrays import Number
from ironlaw.errors import BadValue


def bubble(stages: Number, micro_batches: Number, virtual: Number = 1) -> Number:
    """The share of the step in which a device waits for the pipeline to fill and drain."""
    return (stages - 1) / (virtual * micro_batches + stages - 1)


def bubble_overhead(stages: Number, micro_batches: Number, virtual: Number = 1) -> Number:
    """The bubble over the time of the work: (p − 1) / (v·m)."""
    return (stages - 1) / (virtual * micro_batches)


class Slot(NamedTuple):
    """One microbatch on one piece of a stage, forward or backward."""

    stage: int
    backward: bool
    micro: int
    piece: int
    start: float
    end: float


Task = tuple[bool, int, int]  # backward, microbatch, piece


def gantt(stages: int, micro_batches: int, virtual: int = 1, forward: float = 1.0, backward: float = 2.0) -> tuple[Slot, ...]:
    """The schedule as it runs: each stage in its order, each task once what it needs is there. Times are of a whole stage."""
    if virtual > 1 and micro_batches % stages:
        raise BadValue(f"{micro_batches} microbatches are not a multiple of {stages} stages, which interleaving needs", "micro_batches")
    orders = [_order(stage, stages, micro_batches, virtual) for stage in range(stages)]
    done: dict[tuple[int, bool, int, int], float] = {}
    free, at, slots = [0.0] * stages, [0] * stages, []
    while any(at[stage] < len(orders[stage]) for stage in range(stages)):
        moved = False
        for stage in range(stages):
            while at[stage] < len(orders[stage]):
                back, micro, piece = orders[stage][at[stage]]
                ready = _ready(done, stage, stages, virtual, back, micro, piece)
                if ready is None:
                    break
                start = max(free[stage], ready)
                end = start + (backward if back else forward) / virtual
                slots.append(Slot(stage, back, micro, piece, start, end))
                done[stage, back, micro, piece] = free[stage] = end
                at[stage] += 1
                moved = True
        if not moved:
            raise BadValue("the schedule waits for itself")  # pragma: no cover - no order below does
    return tuple(slots)


def _ready(
    done: dict[tuple[int, bool, int, int], float], stage: int, stages: int, virtual: int, back: bool, micro: int, piece: int
) -> float | None:
    """When what a task needs is there; None while it is not."""
    if not back:
        if stage == 0 and piece == 0:
            return 0.0
        before = (stage - 1, False, micro, piece) if stage else (stages - 1, False, micro, piece - 1)
        return done.get(before)
    if stage == stages - 1 and piece == virtual - 1:
        return done.get((stage, False, micro, piece))
    after = (stage + 1, True, micro, piece) if stage < stages - 1 else (0, True, micro, piece + 1)
    return done.get(after)


def _order(stage: int, stages: int, micro_batches: int, virtual: int) -> list[Task]:
    """A stage's tasks: as many forward first as the stages after it need, then in turn, then the rest backward."""
    if virtual == 1:
        warm = min(micro_batches, stages - stage - 1)
        forwards = [(False, i, 0) for i in range(micro_batches)]
        backwards = [(True, i, 0) for i in range(micro_batches)]
    else:
        total = micro_batches * virtual
        warm = min(total, (stages - stage - 1) * 2 + (virtual - 1) * stages)
        turns = [_turn(i, stages, virtual) for i in range(total)]
        forwards = [(False, micro, piece) for micro, piece in turns]
        backwards = [(True, micro, virtual - 1 - piece) for micro, piece in turns]
    middle = [task for pair in zip(forwards[warm:], backwards, strict=False) for task in pair]
    return [*forwards[:warm], *middle, *backwards[len(forwards) - warm :]]


def _turn(i: int, stages: int, virtual: int) -> tuple[int, int]:
    """The i-th forward task of a stage in pieces: p microbatches through one piece, then through the next."""
    group, inside = divmod(i, stages * virtual)
    return group * stages + inside % stages, inside // stages
