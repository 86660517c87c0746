"""What a target on a percentile allows: the highest rate that still meets it, the least of a setting that does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

GRID = 8  # rates tried in each decade below capacity, from the highest down
DECADES = 6
N = TypeVar("N", int, float)


def highest_rate(seconds: Callable[[float], float], target: float, capacity: float, steps: int = 24) -> float:
    """The highest rate under `capacity` at which `seconds(rate)` is within `target`; 0 where none is.

    A server that waits for full batches is late at low rates too, so rates are tried from the top down, then halved between.
    """
    high = capacity
    for k in range(1, GRID * DECADES + 1):
        low = capacity * math.pow(10.0, -k / GRID)
        if seconds(low) <= target:
            break
        high = low
    else:
        return 0.0
    for _ in range(steps):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if seconds(middle) <= target else (low, middle)
    return low


def rate_on_curve(points: Sequence[tuple[float, float]], target: float, capacity: float) -> float:
    """The same from (rate, seconds) in rising order: the last point within the target, then straight on a log scale; 0 where none is."""
    ends = [*points, (capacity, math.inf)]
    good = [i for i, (_, seconds) in enumerate(ends) if seconds <= target]
    if not good:
        return 0.0
    (low, before), (high, after) = ends[good[-1]], ends[good[-1] + 1]
    if math.isinf(after):
        return low
    share = math.log(target / before) / math.log(after / before) if after > before else 0.0
    return float(low * (high / low) ** min(1.0, max(0.0, share)))


def least(values: Sequence[N], meets: Callable[[N], bool]) -> N | None:
    """The first of the values that does, tried in their order; None where none does."""
    return next((value for value in values if meets(value)), None)
