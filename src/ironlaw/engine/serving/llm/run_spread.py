"""How far a simulated run can be trusted: its stretches differ by chance, and so would another run.

A share is as sure as its stretches agree. That puts the share at which a percentile is read between two others, and the percentile
between their values; neighbours that are late together are counted as the few events that they are.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from statistics import fmean, stdev
from typing import TypeVar

STRETCHES = 10  # long ones: a server that is nearly full remembers
SURE = 2.26  # standard errors either way: Student's t, 95% of nine
Between = tuple[float, float]
_T = TypeVar("_T")


def mean_between(values: Sequence[float]) -> Between:
    """The two ends between which the mean of values lies that come in the order of time."""
    parts = [fmean(part) for part in _cut(values)]
    if len(parts) < 2:  # one value says nothing of how far others lie
        return -math.inf, math.inf
    middle, off = fmean(parts), SURE * stdev(parts) / math.sqrt(len(parts))
    return middle - off, middle + off


class Ranks:
    """Values by size, each with how many there are of it, sorted once for every share that is asked for."""

    def __init__(self, values: Iterable[tuple[float, float]]) -> None:
        ordered = sorted(values)
        self.values = [value for value, _ in ordered]
        self.up_to = list(accumulate(count for _, count in ordered))  # how many are no larger
        self.count = math.fsum(count for _, count in ordered)

    def at(self, p: float) -> float:
        """The value that a share `p` of all stay within."""
        return self.values[min(bisect_left(self.up_to, p * self.count - 1e-9), len(self.values) - 1)]


def percentile_between(values: Sequence[tuple[float, float]], p: float, ranks: Ranks | None = None) -> Between:
    """The two ends between which the percentile lies, of (value, how many) in the order of time; it ends with the largest that was seen.

    `ranks`: of the same values, where they are known.
    """
    ranks = ranks or Ranks(values)
    low, high = share_between(values, ranks.at(p))
    off = (high - low) / 2
    return ranks.at(p - off), ranks.at(min(1.0, p + off))


def share_between(values: Sequence[tuple[float, float]], cut: float) -> Between:
    """The two ends between which the share of values above `cut` lies."""
    return mean_between([_over(part, cut) for part in _cut(values)])


def _cut(values: Sequence[_T]) -> list[Sequence[_T]]:
    """Stretches of equally many; what is left over at the end belongs to none."""
    each = max(1, len(values) // STRETCHES)
    return [values[k * each : (k + 1) * each] for k in range(min(STRETCHES, len(values) // each))]


def _over(values: Sequence[tuple[float, float]], cut: float) -> float:
    """The share that is longer."""
    return math.fsum(count for value, count in values if value > cut) / math.fsum(count for _, count in values)
