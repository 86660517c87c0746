"""Service times of a shape, from uniform draws: two kinds of requests, or a distribution that is known by its quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise


def two_kinds(draws: Iterable[float], mean: float, rare: float, times: float) -> list[float]:
    """A share `rare` takes `times` as long as the others."""
    short = mean / (1 - rare + rare * times)
    return [short * times if draw < rare else short for draw in draws]


def from_quantiles(draws: Iterable[float], curve: Sequence[float]) -> list[float]:
    """`curve`: the times at evenly spaced shares from 0 to 1; straight lines between."""
    last = len(curve) - 1
    return [_between(curve, draw * last) for draw in draws]


def _between(curve: Sequence[float], at: float) -> float:
    low = min(int(at), len(curve) - 2)
    return curve[low] + (at - low) * (curve[low + 1] - curve[low])


def curve_mean(curve: Sequence[float]) -> float:
    """The mean of what such a curve gives."""
    return sum(a + b for a, b in pairwise(curve)) / 2 / (len(curve) - 1)
