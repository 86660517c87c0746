"""Could a gap be chance? Newcombe's interval for the difference of two shares (1998, method 10), from Wilson's for each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.numerics.shares import wilson


@dataclass(frozen=True, slots=True)
class Gap:
    """One share less another, with 95%."""

    value: float
    low: float
    high: float

    @property
    def may_be_chance(self) -> bool:
        return self.low <= 0.0 <= self.high

    @property
    def width(self) -> float:
        return self.high - self.low


def gap(hits_a: float, trials_a: float, hits_b: float, trials_b: float) -> Gap:
    """hits_a / trials_a − hits_b / trials_b."""
    a, b = wilson(hits_a, trials_a), wilson(hits_b, trials_b)
    value = a.value - b.value
    return Gap(value, value - math.hypot(a.value - a.low, b.high - b.value), value + math.hypot(a.high - a.value, b.value - b.low))
