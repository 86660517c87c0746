"""Failures and checkpoints: how often to save, and what is left of the time.

Failures are a Poisson process with mean time M between them; a save takes δ, a restart R; work since the last save is lost. Then
T_wall / T = (M/τ)·e^{R/M}·(e^{(τ+δ)/M} − 1), which is least where 1 − τ/M = e^{−(τ+δ)/M}. Seconds throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from ironlaw.engine.arrays import SCALARS, Number
from ironlaw.engine.device.types import check_positive
from ironlaw.engine.streams import split, uniform
from ironlaw.errors import BadValue

BLOCK = 64  # failures drawn at a time


def mtbf(unit: Number, count: Number) -> Number:
    """Mean time between failures of `count` units that each fail every `unit` seconds."""
    return check_positive("mean time between failures", unit) / check_positive("units", count)


def series(parts: Mapping[str, tuple[float, float]]) -> float:
    """The mean time between failures of parts that all must work: {name: (mean time between failures of one, how many)}. Rates add."""
    if not parts:
        raise BadValue("a system of no parts never fails; name at least one part")
    return 1.0 / sum(count / unit for unit, count in parts.values())


def young(save: Number, between: Number) -> Number:
    """√(2δM)."""
    return (2.0 * save * between) ** 0.5


def daly(save: Number, between: Number) -> Number:
    """√(2δM)·[1 + ⅓√(δ/2M) + (δ/2M)/9] − δ for δ < 2M, else M (Daly 2006)."""
    if isinstance(save, SCALARS) and isinstance(between, SCALARS) and save >= 2 * between:
        return between
    part = save / (2.0 * between)
    interval = young(save, between) * (1.0 + part**0.5 / 3.0 + part / 9.0) - save
    if isinstance(save, SCALARS) and isinstance(between, SCALARS):
        return interval
    import numpy as np

    return np.where(part >= 1.0, between, interval)


def optimum(save: float, between: float) -> float:
    """The interval of the least wall time, exactly: M·(1 + W₀(−e^{−1−δ/M})), W being Lambert's.

    With 1 − τ/M = e^{−t} it is the root of t + e^{−t} − 1 = δ/M, convex and rising, so Newton's steps from above never miss it.
    """
    check_positive("time of a save", save)
    share = save / check_positive("mean time between failures", between)
    t = min(share + 1.0, math.sqrt(2.0 * share) + share)
    for _ in range(100):
        step = (t + math.expm1(-t) - share) / -math.expm1(-t)
        t -= step
        if abs(step) <= 1e-15 * t:
            break
    return -between * math.expm1(-t)


def wall(interval: Number, save: Number, restart: Number, between: Number) -> Number:
    """Seconds of wall time for each second of useful work; inf where it is beyond all numbers."""
    check_positive("interval", interval)
    if all(isinstance(x, SCALARS) for x in (interval, save, restart, between)):
        if max(restart, interval + save) / between > 700.0:
            return math.inf
        return between / interval * math.exp(restart / between) * math.expm1((interval + save) / between)
    import numpy as np

    return between / interval * np.exp(restart / between) * np.expm1((interval + save) / between)


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the wall time goes; they add up to one."""

    goodput: Number
    writing: Number
    restart: Number
    lost: Number

    @property
    def total(self) -> Number:
        return self.goodput + self.writing + self.restart + self.lost


def goodput(interval: Number, save: Number, restart: Number, between: Number) -> Shares:
    """The share of the time that is work which lasts, and where the rest goes.

    Every second of the wall is open to failures, so there are wall/M of them. Each starts a restart that may itself fail, M·(1 − e^{−R/M})
    long.
    """
    stretched = wall(interval, save, restart, between)
    work = 1.0 / stretched
    writing = save / interval * work
    if all(isinstance(x, SCALARS) for x in (restart, between)):
        again = -math.expm1(-restart / between)
    else:
        import numpy as np

        again = -np.expm1(-restart / between)
    return Shares(work, writing, again, 1.0 - work - writing - again)


def waste(interval: Number, save: Number, restart: Number, between: Number) -> Number:
    """The share of the wall time that is wasted, to first order: δ/τ + τ/2M + R/M."""
    return save / interval + interval / (2.0 * between) + restart / between


@dataclass(frozen=True, slots=True)
class Level:
    """A place to save to: what a save and a restart from there take."""

    save: float
    restart: float


def two_level(near: Level, far: Level, survives: float, between: float) -> tuple[float, float, float]:
    """(interval near, interval far, goodput), to first order: a share of failures leaves the near copy whole, the rest go to the far one.

    waste = δ₁/τ₁ + δ₂/τ₂ + p/M·(τ₁/2 + R₁) + (1−p)/M·(τ₂/2 + R₂); each interval is Young's for the failures that it serves.
    """
    if not 0.0 < survives < 1.0:
        raise BadValue(f"{survives!r} is not a share of failures between 0 and 1; with one level use goodput()", "survives")
    often, seldom = between / survives, between / (1.0 - survives)
    near_s, far_s = young(near.save, often), young(far.save, seldom)
    lost = waste(near_s, near.save, near.restart, often) + waste(far_s, far.save, far.restart, seldom)
    return near_s, far_s, max(0.0, 1.0 - lost)


def draw(seed: int, between: float, span: float, shape: float = 1.0) -> Iterator[float]:
    """Times of failures up to `span`; Weibull between them with mean `between`, shape 1 being exponential. The same for the same seed."""
    scale = between / math.gamma(1.0 + 1.0 / shape)
    now = 0.0
    for block in count():
        for share in uniform(split(seed, block), BLOCK):
            now += scale * (-math.log1p(-share)) ** (1.0 / shape)
            if now >= span:
                return
            yield now
