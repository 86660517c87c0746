"""How sure a share is: hits among trials, with Wilson's interval (1927), and how many trials would settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Share:
    """Hits of so many trials; `low` and `high` hold the true share with the confidence asked for."""

    hits: float
    trials: float
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.hits / self.trials


def wilson(hits: float, trials: float, confidence: float = 0.95) -> Share:
    """Wilson's score interval: unlike ±z·√(p(1−p)/n) it stays within 0 … 1 and has a width at 0 and at 1."""
    if not (trials > 0 and 0 <= hits <= trials):
        raise BadValue(f"{hits} hits in {trials} trials; give at least one trial, and no more hits than trials")
    z = _z(confidence)
    share = hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    # with no hit the lower end is 0, with nothing but hits the upper one 1; rounding must not leave a trace of either
    return Share(hits, trials, max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < trials else 1.0)


def trials_needed(share: float, floor: float, confidence: float = 0.95) -> float:
    """Trials needed to tell a share from a floor with this confidence, if the share stays as it is; inf where they are equal."""
    if not (0 <= share <= 1 and 0 <= floor <= 1):
        raise BadValue(f"the shares are {share} and {floor}; give both between 0 and 1")
    if share == floor:
        return math.inf
    # the floor is at the interval's end when (share − floor)² = z² · floor · (1 − floor) / n: Wilson's interval is that test turned round
    return float(max(1, math.ceil(_z(confidence) ** 2 * floor * (1 - floor) / (share - floor) ** 2)))


@cache
def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise BadValue(f"the confidence is {confidence}; give one between 0 and 1, such as 0.95", "confidence")
    from statistics import NormalDist  # slow to import, and asked for once

    return NormalDist().inv_cdf((1 + confidence) / 2)


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> Share:
    """The exact interval: never holds the true share less often than it says (Clopper and Pearson 1934). Wider than Wilson's."""
    if (
        isinstance(trials, bool)
        or isinstance(hits, bool)
        or hits != int(hits)
        or trials != int(trials)
        or not 0 <= hits <= trials
        or trials < 1
    ):
        raise BadValue(f"{hits} hits in {trials} trials; give whole numbers, at least one trial, and no more hits than trials")
    if not 0 < confidence < 1:
        raise BadValue(f"the confidence is {confidence}; give one between 0 and 1, such as 0.95", "confidence")
    half = (1 - confidence) / 2
    return Share(hits, trials, lower_bound(hits, trials, half), 1 - lower_bound(trials - hits, trials, half))


@lru_cache(4096)  # hundreds of steps each, and a table's rows are asked for with every turn of a dial
def lower_bound(hits: int, trials: int, doubt: float) -> float:
    """The share below which `hits` or more come with at most the probability `doubt`: one side of the exact interval."""
    if hits == 0:
        return 0.0
    if hits == trials:
        return float(doubt ** (1 / trials))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if beta(hits, trials - hits + 1, middle) < doubt else (low, middle)
    return low


def beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz): P(at least a of a + b − 1 hits) at a share x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d, whole = 1.0, 0.0, 1.0
    for i in range(10_000):
        m = i // 2
        if i == 0:
            numerator = 1.0
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (_off_zero(1 + numerator * d))
        c = _off_zero(1 + numerator / c)
        whole *= c * d
        if abs(1 - c * d) < 1e-13:
            break
    return front * (whole - 1)


def _off_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
