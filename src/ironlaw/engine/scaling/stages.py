"""Stages of a job, some of them sped up: in turn the times add, overlapped the slowest sets the pace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ironlaw.engine.arrays import Number, maximum, ratio, total
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


def in_turn(times: Sequence[Number], factors: Sequence[Number]) -> Number:
    """How much faster the whole gets where stages take turns: Σt / Σ(t/s). A factor may be inf."""
    after = _after(times, factors)
    return ratio(total(times), total(after))


def pipelined(times: Sequence[Number], factors: Sequence[Number]) -> Number:
    """How much faster the whole gets where stages overlap: max t / max(t/s). A stage that is not the slowest changes nothing."""
    after = _after(times, factors)
    return ratio(reduce(maximum, times), reduce(maximum, after))


def share_after(times: Sequence[Number], factors: Sequence[Number], stage: int) -> Number:
    """A stage's share of the whole after the change. It is also what 1% more on its factor brings: d ln S / d ln s."""
    after = _after(times, factors)
    return ratio(after[stage], total(after))


def _after(times: Sequence[Number], factors: Sequence[Number]) -> list[Number]:
    if not times or len(times) != len(factors):
        raise BadValue(f"{len(times)} stages and {len(factors)} factors; give one factor for each stage, 1 for one that stays")
    for time in times:
        check_positive("time of a stage", time, zero=True)
    return [time / _factor(factor) for time, factor in zip(times, factors, strict=True)]


def _factor(factor: Number) -> Number:
    return factor if isinstance(factor, float) and factor == float("inf") else check_positive("factor of a stage", factor)
