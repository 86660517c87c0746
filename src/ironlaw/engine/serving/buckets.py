"""HdrHistogram's buckets: counts of durations to three digits over any range, in kilobytes, merged without loss.

A duration is a whole number of `unit` seconds. Below 2 · 10^digits each has a bucket of its own; from there on buckets double in width
with every power of two, so that a bucket is never wider than 10^−digits of what is in it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from ironlaw.engine.serving.samples import rank
from ironlaw.errors import BadValue

DIGITS = 3
NANOSECOND = 1e-9


def bucket(units: int, digits: int = DIGITS) -> int:
    """The lowest whole number of the bucket that holds so many units."""
    own = _own(digits)
    shift = max(0, units.bit_length() - own.bit_length() + 1)
    return units >> shift << shift


def width(lowest: int, digits: int = DIGITS) -> int:
    """How many whole numbers the bucket with this lowest one holds."""
    own = _own(digits)
    return 1 << max(0, lowest.bit_length() - own.bit_length() + 1)


def _own(digits: int) -> int:
    """Numbers that have a bucket of their own: the power of two that reaches 2 · 10^digits."""
    return int(1 << (2 * 10**digits - 1).bit_length())


@dataclass(frozen=True)
class Buckets:
    """Lowest number of a bucket -> count. A value: recording and merging give a new one."""

    counts: Mapping[int, int] = field(default_factory=dict)
    unit: float = NANOSECOND
    digits: int = DIGITS

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    def record(self, seconds: Iterable[float]) -> Buckets:
        counts = Counter(self.counts)
        for value in seconds:
            if not (value >= 0 and math.isfinite(value)):
                raise BadValue(f"a duration of {value!r} s; only finite ones from 0 s on can be counted")
            counts[bucket(round(value / self.unit), self.digits)] += 1
        return Buckets(dict(counts), self.unit, self.digits)

    def merge(self, other: Buckets) -> Buckets:
        """All that either holds."""
        if (self.unit, self.digits) != (other.unit, other.digits):
            mine, theirs = (f"{kept.digits} digits of {kept.unit:g} s" for kept in (self, other))
            raise BadValue(f"buckets of {mine} don't merge with those of {theirs}; count both alike")
        return Buckets(dict(Counter(self.counts) + Counter(other.counts)), self.unit, self.digits)

    def quantile(self, p: float) -> float:
        """By nearest rank, in seconds: the middle of the bucket that holds it."""
        lowest = sorted(self.counts)
        so_far = list(accumulate(self.counts[each] for each in lowest))
        return self.middle(lowest[bisect_left(so_far, rank(self.n, p))])

    def middle(self, lowest: int) -> float:
        return (lowest + (width(lowest, self.digits) - 1) / 2) * self.unit
