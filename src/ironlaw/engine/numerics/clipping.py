"""Where to cut a Gaussian off: the uniform grid with the least squared error (Max 1960, *Quantizing for minimum distortion*).

A wide grid rounds coarsely, a narrow one clips the tails. Everything is in units of the standard deviation.
"""

from __future__ import annotations

import math
from functools import cache

from ironlaw.errors import BadValue

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
EXACT = 1e-9  # standard deviations
MOST = 1024  # levels of a grid whose best step is looked for, which takes a hundred sums over all of them


def gaussian_noise(levels: int, step: float) -> float:
    """Mean squared error of a unit Gaussian on `levels` equal steps around zero; what lies beyond goes to the last level."""
    if levels < 2 or not 0 < step < math.inf:
        raise BadValue(f"{levels} levels with a step of {step}; give at least 2 levels and a finite step above 0")
    top = (levels - 1) / 2.0 * step
    places = [-top + i * step for i in range(levels)]
    edges = [-math.inf, *(place + step / 2.0 for place in places[:-1]), math.inf]
    return 1.0 + sum(_cell(place, low, high) for place, low, high in zip(places, edges[:-1], edges[1:], strict=True))


@cache
def best_gaussian_step(levels: int) -> float:
    """The step with the least error, by golden section: the error falls, then rises."""
    if levels > MOST:
        raise BadValue(f"{levels:,} levels; the best step is looked for with at most {MOST:,}", "levels")
    low, high = 1e-6, 4.0
    while high - low > EXACT:
        one, two = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, two) if gaussian_noise(levels, one) < gaussian_noise(levels, two) else (one, high)
    return (low + high) / 2.0


def best_gaussian_bound(levels: int) -> float:
    """How many standard deviations the best grid reaches to."""
    return (levels - 1) / 2.0 * best_gaussian_step(levels)


def _cell(place: float, low: float, high: float) -> float:
    """∫ (place² − 2 · place · x) φ(x) dx from low to high; what (x − place)² has beside it, x², adds up to 1 over all cells."""
    mass = (math.erf(high / math.sqrt(2.0)) - math.erf(low / math.sqrt(2.0))) / 2.0
    first = _density(low) - _density(high)
    return place * place * mass - 2.0 * place * first


def _density(x: float) -> float:
    return math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
