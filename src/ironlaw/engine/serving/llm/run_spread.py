"""How far a simulated run can be trusted: its stretches differ by chance, and so would another run.

A share is as sure as its stretches agree. That puts the share at which a percentile is read between two others, and the percentile
between their values; neighbours that are late together are counted as the few events that they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TypeVar

STRETCHES = 10  # long ones: a server that is nearly full remembers
SURE = 2.26  # standard errors either way: Student's t, 95% of nine
Between = tuple[float, float]
_T = TypeVar("_T")


def mean_between(values: Sequence[float]) -> Between:
    """Between which the mean lies, of values in the order of time."""
    parts = [fmean(part) for part in _cut(values)]
    middle, off = fmean(parts), SURE * stdev(parts) / math.sqrt(len(parts))
    return middle - off, middle + off


def percentile_between(values: Sequence[tuple[float, float]], p: float) -> Between:
    """Between which the percentile lies, of (value, how many) in the order of time; it ends with the largest that was seen."""
    ordered = sorted(values)
    low, high = share_between(values, _at(ordered, p))
    off = (high - low) / 2
    return _at(ordered, p - off), _at(ordered, min(1.0, p + off))


def share_between(values: Sequence[tuple[float, float]], cut: float) -> Between:
    """Between which the share of those above `cut` lies."""
    return mean_between([_over(part, cut) for part in _cut(values)])


def _cut(values: Sequence[_T]) -> list[Sequence[_T]]:
    """Stretches of equally many; what is left over at the end belongs to none."""
    each = max(1, len(values) // STRETCHES)
    return [values[k * each : (k + 1) * each] for k in range(min(STRETCHES, len(values) // each))]


def _over(values: Sequence[tuple[float, float]], cut: float) -> float:
    """The share that is longer."""
    return math.fsum(count for value, count in values if value > cut) / math.fsum(count for _, count in values)


def _at(ordered: Sequence[tuple[float, float]], p: float) -> float:
    left = p * math.fsum(count for _, count in ordered) - 1e-9
    for value, count in ordered:
        left -= count
        if left <= 0:
            return value
    return ordered[-1][0]
