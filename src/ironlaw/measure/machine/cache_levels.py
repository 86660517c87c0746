"""The memory levels of a machine, read off its bandwidth curve and held against what the system reports.

A curve is a list of (working set in bytes, bandwidth in bytes/s). It falls in steps: a plateau for each level. The steps are found by
the piecewise-constant curve (in logarithms) that fits best, with a price for each further piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

PRICE = 0.06  # of one more piece, as squared error in ln(bandwidth)
STEP = 1.15  # plateaus closer than this are one
NEAR = 2.0  # a step within this factor of a reported size confirms it

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """One level. `size`: where its plateau ends, or what the system reports; `has_step`: whether the curve has a step there."""

    name: str
    size: float
    bandwidth: float
    reported: bool
    has_step: bool


def falling(points: Sequence[Point]) -> list[Point]:
    """The curve, never rising: a small working set is no slower than a larger one, where its overhead is taken off."""
    best, curve = 0.0, []
    for size, rate in sorted(points, reverse=True):
        best = max(best, rate)
        curve.append((size, best))
    return curve[::-1]


def plateaus(points: Sequence[Point]) -> list[Point]:
    """(last working set, bandwidth) of each plateau, the fastest first."""
    curve = falling(points)
    if not curve:
        return []
    logs = [log(rate) for _, rate in curve]
    price, pieces = [0.0], [[0]]
    for end in range(1, len(logs) + 1):
        best = min((price[start] + _error(logs[start:end]) + PRICE, start) for start in range(end))
        price.append(best[0])
        pieces.append([*pieces[best[1]], end])
    spans: list[tuple[int, int]] = []
    for start, end in pairwise(pieces[-1]):
        if spans and exp(_mean(logs[slice(*spans[-1])]) - _mean(logs[start:end])) < STEP:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [(curve[end - 1][0], exp(_mean(logs[start:end]))) for start, end in spans]


def levels(points: Sequence[Point], reported: Mapping[str, float]) -> list[MemoryLevel]:
    """The caches, fastest first; main memory is not among them.

    Where the system reports sizes, those are the levels, and the curve gives their bandwidth and says whether it steps there.
    Where it reports none, each plateau but the last is a level.
    """
    curve, steps = falling(points), plateaus(points)
    if not curve:
        return []
    if not reported:
        return [MemoryLevel(f"l{i}", size, rate, False, True) for i, (size, rate) in enumerate(steps[:-1], 1)]
    caches, before = [], 0.0
    for name, size in sorted(reported.items(), key=lambda pair: pair[1]):
        inside = [rate for work, rate in curve if before < work <= size]
        if inside:
            has_step = any(size / NEAR <= end <= size * NEAR for end, _ in steps[:-1])
            caches.append(MemoryLevel(name, size, inside[len(inside) // 2], True, has_step))  # the middle: edges are half the neighbour's
        before = size
    return caches


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _error(values: Sequence[float]) -> float:
    middle = _mean(values)
    return sum((value - middle) ** 2 for value in values)
