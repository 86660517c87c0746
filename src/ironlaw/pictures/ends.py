"""Where an axis ends: at round figures, so that it stands still while a dial moves what is drawn on it."""

from __future__ import annotations

import math
from collections.abc import Iterable

ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # near enough that no picture is half empty


def decades(low: float, high: float) -> tuple[float, float]:
    """The whole decades that hold both."""
    return 10.0 ** math.floor(math.log10(low) + 1e-9), 10.0 ** math.ceil(math.log10(high) - 1e-9)


def half_decades(low: float, high: float) -> tuple[float, float]:
    """The same in halves, for a picture that would be half empty otherwise."""
    low, high = decades(low**2, high**2)
    return math.sqrt(low), math.sqrt(high)


def up_to(high: float) -> float:
    """The next round figure that is not below."""
    if high <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(high))
    return next(digit * size for digit in ROUND if digit * size >= high * (1 - 1e-9))


def down_to(low: float) -> float:
    """The next round figure that is not above."""
    size = 10.0 ** math.floor(math.log10(low))
    return next(digit * size for digit in reversed(ROUND) if digit * size <= low * (1 + 1e-9))


def snug(low: float, high: float) -> tuple[float, float]:
    """Round figures just beyond both, for a log axis of less than two decades."""
    return down_to(low), up_to(high)


def doubled_to(unit: float, values: Iterable[float]) -> float:
    """A unit, doubled until it holds every value."""
    return float(unit * 2 ** max(0, math.ceil(math.log2(max(values) / unit) - 1e-9)))
