"""The statistics of the report, each on one screen. They give None where there are too few data for a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, quantiles

from ironlaw.engine.numerics import shares

Z = NormalDist().inv_cdf(0.975)  # 95%, two-sided
FEWEST = 20  # learners under whom no correlation is shown
FEWEST_EACH = 5  # of them right, and of them wrong


def quartiles(values: Sequence[float]) -> tuple[float, float, float] | None:
    """First quartile, median, third quartile; a single value is all three."""
    if not values:
        return None
    if len(values) == 1:
        return values[0], values[0], values[0]
    first, median, third = quantiles(values, n=4, method="inclusive")
    return first, median, third


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """Wilson's 95% interval of a share: it stays within 0 and 1, and is honest where n is small."""
    if n == 0:
        return None
    share = shares.wilson(hits, n)
    return share.low, share.high


def point_biserial(right: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Pearson's correlation of right (1) or wrong (0) with a score. None with too few learners, or where one of the two does not vary."""
    n, hits = len(right), sum(right)
    if n < FEWEST or min(hits, n - hits) < FEWEST_EACH:
        return None
    mean = math.fsum(scores) / n
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / n)
    if spread < 1e-12:
        return None
    p = hits / n
    of_right = math.fsum(score for score, is_right in zip(scores, right, strict=True) if is_right) / hits
    return (of_right - mean) / spread * math.sqrt(p / (1 - p))


def fisher(r: float, n: int) -> tuple[float, float]:
    """The 95% interval of a correlation, by Fisher's transformation; n is above 3."""
    r = max(-0.999999, min(0.999999, r))
    centre, spread = math.atanh(r), Z / math.sqrt(n - 3)
    return math.tanh(centre - spread), math.tanh(centre + spread)
