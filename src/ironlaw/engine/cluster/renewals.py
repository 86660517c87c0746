"""Failures that are not a Poisson process: in bursts, or by wear. After each the job starts again, so its lives are independent.

A life of length g gives ⌊(g − R)/(τ + δ)⌋ intervals that last. In the long run that is (τ/M)·Σₙ S(R + n(τ + δ)) of the time, S(t) being the
chance of a life longer than t: Weibull's with mean M. Seconds throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ironlaw.engine.cluster import failures
from ironlaw.engine.cluster.failures import Shares
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import unknown

BUNCHED, RANDOM, WORN = 0.5, 1.0, 2.0
# shape -> ∫ e^{−uᵏ} du from u on: what is left of a life, over the law's scale
REST: dict[float, Callable[[float], float]] = {
    BUNCHED: lambda u: 2.0 * (1.0 + math.sqrt(u)) * math.exp(-math.sqrt(u)),
    RANDOM: lambda u: math.exp(-u),
    WORN: lambda u: math.sqrt(math.pi) / 2.0 * math.erfc(u),
}
TERMS = 48  # of the sum, one by one; the rest as an integral


def goodput(interval: float, save: float, restart: float, between: float, shape: float = RANDOM) -> Shares:
    """The share of the time that is work which lasts, and where the rest goes; `shape` is Weibull's: 0.5, 1 or 2."""
    if shape not in REST:
        raise unknown("shape of the law of failures", str(shape), [str(each) for each in REST])
    if shape == RANDOM:
        return failures.goodput(interval, save, restart, between)
    cycle = check_positive("interval", interval) + save
    rest = REST[shape]
    scale = check_positive("mean time between failures", between) / rest(0.0)
    count = 0.0
    for n in range(1, TERMS + 1):
        longer = math.exp(-(((restart + n * cycle) / scale) ** shape))
        count += longer
        if longer < 1e-12:
            break
    else:
        count += scale / cycle * rest((restart + (TERMS + 0.5) * cycle) / scale)
    work = count * interval / between
    writing = count * save / between
    again = 1.0 - rest(restart / scale) / rest(0.0)
    return Shares(work, writing, again, 1.0 - work - writing - again)


def band(
    allowed: float, ends: tuple[float, float], best: float, save: float, restart: float, between: float, shape: float = RANDOM
) -> tuple[float, float]:
    """The intervals between which no more than `allowed` of the time is wasted, around the best one and not beyond `ends`."""

    def edge(far: float) -> float:
        near = best
        for _ in range(30):
            middle = (near * far) ** 0.5
            wasted = 1.0 - float(goodput(middle, save, restart, between, shape).goodput)
            near, far = (middle, far) if wasted <= allowed else (near, middle)
        return near

    return edge(ends[0]), edge(ends[1])


def optimum(save: float, restart: float, between: float, shape: float = RANDOM) -> float:
    """The interval of the most work: exact where failures come at random, else the best of a fine grid around it, refined."""
    start = failures.optimum(save, between)
    if shape == RANDOM:
        return start

    def work(interval: float) -> float:
        return float(goodput(interval, save, restart, between, shape).goodput)

    best, ratio = max((start * 10 ** (step / 20) for step in range(-20, 31)), key=work), 10 ** (1 / 20)
    low, high = best / ratio, best * ratio
    for _ in range(24):  # thirds: the peak is inside
        a, b = low * (high / low) ** (1 / 3), low * (high / low) ** (2 / 3)
        low, high = (a, high) if work(a) < work(b) else (low, b)
    return math.sqrt(low * high)
