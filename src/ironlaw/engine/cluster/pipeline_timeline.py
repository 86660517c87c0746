"""A pipeline's step as stretches of work and of waiting, stage by stage: what a picture draws of a schedule with a thousand microbatches.

The middle of a 1F1B schedule repeats itself, so only its ends are played; what lies between is as long as the microbatches left out.
"""

from __future__ import annotations

from typing import NamedTuple

from ironlaw.engine.cluster.pipelines import Slot, gantt

FORWARD, BACKWARD, IN_TURN, IDLE = "forward", "backward", "in turn", "idle"
PLAYED = 3  # times as many microbatches as stages: filled, steady, drained


class Stretch(NamedTuple):
    """What one stage does from `start` to `end`: microbatches forward, backward, in turn, or nothing. `slots` of work."""

    stage: int
    kind: str
    start: float
    end: float
    slots: int = 0


def stretches(
    stages: int, micro_batches: int, virtual: int = 1, forward: float = 1.0, backward: float = 2.0, single: bool = False
) -> tuple[Stretch, ...]:  # fmt: skip
    """Every stage's stretches, in order of time, from 0 to the end of the step. `single`: each slot by itself, where all are played."""
    played = min(micro_batches, PLAYED * stages)
    slots = gantt(stages, played, virtual, forward, backward)
    longer = (micro_batches - played) * (forward + backward)
    end = max(slot.end for slot in slots) + longer
    by_stage: list[list[Slot]] = [[] for _ in range(stages)]
    for slot in slots:
        by_stage[slot.stage].append(slot)
    rows: list[Stretch] = []
    for stage, mine in enumerate(by_stage):
        rows += _row(
            stage, sorted(mine, key=lambda slot: slot.start), longer, 2 * virtual * (micro_batches - played), end, single and not longer
        )
    return tuple(rows)


def _row(stage: int, slots: list[Slot], longer: float, left_out: int, end: float, single: bool) -> list[Stretch]:
    row: list[Stretch] = []
    middle, shift, at = len(slots) // 2, 0.0, 0.0
    for i, slot in enumerate(slots):
        if i == middle and longer:
            row.append(Stretch(stage, IN_TURN, slot.start, slot.start + longer, left_out))
            shift, at = longer, slot.start + longer
        start, stop = slot.start + shift, slot.end + shift
        kind = BACKWARD if slot.backward else FORWARD
        if start - at > 1e-9 * end:
            row.append(Stretch(stage, IDLE, at, start))
        elif row and row[-1].kind != IDLE and not single:
            last = row.pop()
            start, kind = last.start, kind if last.kind == kind else IN_TURN
            row.append(Stretch(stage, kind, start, stop, last.slots + 1))
            at = stop
            continue
        row.append(Stretch(stage, kind, start, stop, 1))
        at = stop
    if end - at > 1e-9 * end:
        row.append(Stretch(stage, IDLE, at, end))
    return row


def idle_share(rows: tuple[Stretch, ...]) -> float:
    """The share of all stages' time that is idle, which is the bubble."""
    end = max(row.end for row in rows)
    stages = 1 + max(row.stage for row in rows)
    return sum(row.end - row.start for row in rows if row.kind == IDLE) / (end * stages)
