"""Where an axis ends: at round figures, so that it stands still while a dial moves what is drawn on it."""

from __future__ import annotations

import math
from collections.abc import Iterable

LEAST_RATIO = math.sqrt(10.0)  # of the ends of a log axis
EVERYWHERE = (1e-300, 1e300)
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


def fitted(values: Iterable[float], bounds: tuple[float, float] = EVERYWHERE) -> tuple[float, float]:
    """Half decades of a log axis that hold every value within `bounds`, closer ends where three tenths of it would be empty; no closer than
    half a decade, so that what hardly changes looks level."""
    held = [min(max(value, bounds[0]), bounds[1]) for value in values]
    low, high = min(held), max(held)
    if high < low * LEAST_RATIO:
        low = min(max(math.sqrt(low * high / LEAST_RATIO), bounds[0]), bounds[1] / LEAST_RATIO)
        high = low * LEAST_RATIO
    wide = half_decades(low, high)
    near = wide if math.log(high / low) >= 0.7 * math.log(wide[1] / wide[0]) else snug(low, high)
    return max(near[0], bounds[0]), min(near[1], bounds[1])


def doubled_to(unit: float, values: Iterable[float]) -> float:
    """A unit, doubled until it holds every value."""
    return float(unit * 2 ** max(0, math.ceil(math.log2(max(values) / unit) - 1e-9)))
