"""How sure a share is: hits among trials, with Wilson's interval (1927), and how many trials would settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

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
        raise BadValue(f"{hits} hits of {trials} trials; give at least one trial, and no more hits than trials")
    z = _z(confidence)
    share = hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return Share(hits, trials, max(0.0, middle - half), min(1.0, middle + half))


def trials_needed(share: float, floor: float, confidence: float = 0.95) -> float:
    """Trials after which a share that stays as it is would be told from a floor; inf where they are equal."""
    if not (0 <= share <= 1 and 0 <= floor <= 1):
        raise BadValue(f"a share of {share} against {floor}; give both between 0 and 1")
    if share == floor:
        return math.inf
    # the floor is at the interval's end when (share − floor)² = z² · floor · (1 − floor) / n: Wilson's interval is that test turned round
    return float(max(1, math.ceil(_z(confidence) ** 2 * floor * (1 - floor) / (share - floor) ** 2)))


@cache
def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise BadValue(f"a confidence of {confidence}; give one between 0 and 1, such as 0.95", "confidence")
    from statistics import NormalDist  # slow to import, and asked for once

    return NormalDist().inv_cdf((1 + confidence) / 2)
