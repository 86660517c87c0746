"""What a sample of n requests says about a percentile: ranks by the binomial distribution, with nothing assumed but independence.

Of n values in order, the percentile p lies above the l-th unless more than n − l of n fall above it, and so on: rank by rank.
"""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw.engine.serving.line import ranked
from ironlaw.errors import BadValue

WIDE = 12.0  # standard deviations of a binomial beyond which nothing is left to add up


def rank(n: int, p: float) -> int:
    """The place, from 1 to n, of the percentile in a sorted sample."""
    check(n, p)
    return int(ranked(range(1, n + 1), p))


@lru_cache(maxsize=1024)
def order_interval(n: int, p: float, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """The ranks between which the percentile lies with this confidence; None where even the smallest or largest does not bound it.

    Two-sided: each end is wrong with at most half of what the confidence leaves.
    """
    check(n, p)
    half = (1 - _confidence(confidence)) / 2
    low, high = None, None
    below = 0.0  # P(B < r), B values at or below the percentile
    for r, mass in _binomial(n, p):
        if below <= half and r >= 1:
            low = r
        below += mass
        if below >= 1 - half and r < n:
            high = r + 1
            break
    return low, high


def least_count(p: float, confidence: float = 0.95) -> int:
    """The fewest requests whose largest bounds the percentile from above with this confidence: p^n ≤ 1 − confidence."""
    check(1, p)
    left = 1 - _confidence(confidence)
    n = max(1, math.ceil(math.log(left) / math.log(p)) - 1)
    while p**n > left * (1 + 1e-12):
        n += 1
    return n


def _binomial(n: int, p: float) -> list[tuple[int, float]]:
    """(r, P(B = r)) for every r that matters, from the lowest: B counts which of n values lie at or below the percentile."""
    reach = WIDE * math.sqrt(n * p * (1 - p)) + WIDE
    first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    odds = math.log(p), math.log1p(-p)
    whole = math.lgamma(n + 1)
    return [
        (r, math.exp(whole - math.lgamma(r + 1) - math.lgamma(n - r + 1) + r * odds[0] + (n - r) * odds[1])) for r in range(first, last + 1)
    ]


def check(n: int, p: float) -> None:
    if n < 1:
        raise BadValue(f"a sample of {n} requests; count at least 1")
    if not 0 < p < 1:
        raise BadValue(f"the percentile is {p!r}; give a share between 0 and 1, such as 0.99")


def _confidence(value: float) -> float:
    if not 0 < value < 1:
        raise BadValue(f"the confidence is {value!r}; give a share between 0 and 1, such as 0.95")
    return value
