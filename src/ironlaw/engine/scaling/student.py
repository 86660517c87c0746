"""Student's t for a whole number of degrees of freedom, by its finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4)."""

from __future__ import annotations

import math

from ironlaw.errors import BadValue


def t_quantile(probability: float, freedom: int) -> float:
    """Where the distribution reaches `probability`, of at least one half."""
    if not 0.5 <= probability < 1.0:
        raise BadValue(f"probability is {probability!r}; give one from 0.5 to below 1")
    if freedom < 1:
        raise BadValue(f"degrees of freedom are {freedom!r}; give 1 or more")
    within = 2.0 * probability - 1.0
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < within else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """The probability of −t … t, where t = √ν · tan(angle)."""
    odd, square = freedom % 2, math.cos(angle) ** 2
    term = total = math.cos(angle) if odd else 1.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    if freedom == 1:
        return 2.0 * angle / math.pi
    return 2.0 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
