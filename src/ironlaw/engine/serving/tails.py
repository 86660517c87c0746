"""The slow end of a distribution: a tail is a function t -> P(X > t), t in seconds.

A percentile belongs to a way of asking: of how many joined calls, of which streams together, hedged or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.queues import Tail
from ironlaw.errors import BadValue

FINEST = 200  # halvings of an interval: more than a double can tell apart


def exponential_tail(mean: float) -> Tail:
    """P(X > t) = e^(−t/mean), as the time in an M/M/1 system is distributed."""
    check_positive("mean", mean)
    return lambda t: math.exp(-max(t, 0.0) / mean)


def quantile(tail: Tail, p: float) -> float:
    """The least t with P(X ≤ t) ≥ p, in seconds."""
    _share(p)
    late, low, high, over = 1 - p, 0.0, 1.0, 1.0
    while (rest := tail(high)) > late:
        low, high, over = high, 2 * high, rest
        if math.isinf(high):
            raise BadValue(f"the tail stays above {late!r} forever; it has no such quantile: give a tail that falls to 0")
    return _crossing(tail, late, (low, _above(over, late)), (high, _above(rest, late)))


def _crossing(tail: Tail, late: float, left: tuple[float, float], right: tuple[float, float]) -> float:
    """Where a tail falls to `late`, between two times, each with how far its tail is above that. The logarithm of a tail is nearly
    straight, so a line between the ends meets the place in a few steps. After a step that took off less than half, the next one halves."""
    (low, above), (high, below) = left, right
    side, before = 0, math.inf
    for _ in range(FINEST):
        width, least = high - low, 2e-16 * high
        if width <= 2 * least or (low + high) / 2 in (low, high):
            break
        part = 0.5 if width > before / 2 or above <= below else above / (above - below)
        before = width if width <= before / 2 else math.inf
        t = low + min(max(part * width, least), width - least)
        rest = tail(t)
        if rest > late:
            low, above = t, _above(rest, late)
            below = below / 2 if side == 1 else below  # an end that stays counts for half, so that the next line passes closer to it
            side = 1
        else:
            high, below = t, _above(rest, late)
            above = above / 2 if side == -1 else above
            side = -1
    return high


def _above(rest: float, late: float) -> float:
    return math.log(max(rest, 1e-300) / late)


def at_least_one(p: float, k: float) -> float:
    """P(at least one of k independent calls is slow) where each is slow with probability p: 1 − (1 − p)^k."""
    if not 0 <= p <= 1:
        raise BadValue(f"{p!r} is not a valid probability; give a number from 0 to 1")
    _calls(k)
    return 1.0 if p == 1 else -math.expm1(k * math.log1p(-p))


def fan_out(tail: Tail, k: float) -> Tail:
    """The tail of a page that waits for the slowest of k independent calls."""
    _calls(k)
    return lambda t: at_least_one(tail(t), k)


def fan_out_quantile(p: float, k: float) -> float:
    """The quantile of one call that is the page's quantile p: p^(1/k)."""
    _share(p)
    _calls(k)
    return math.exp(math.log(p) / k)


def hedged(tail: Tail, delay: float) -> Tail:
    """The tail of the first answer where an independent copy is sent after `delay` seconds and adds no load: P(X > t) · P(X > t − d)."""
    check_positive("delay", delay, zero=True)
    return lambda t: tail(t) if t < delay else tail(t) * tail(t - delay)


def hedge_load(tail: Tail, delay: float) -> float:
    """Copies per request, as a share: those that are not answered by then."""
    return tail(delay)


def merged_quantile(parts: Sequence[tuple[float, Tail]], p: float) -> float:
    """The quantile of several streams together; parts are (requests per second, tail)."""
    whole = sum(weight for weight, _ in parts)
    if not parts or any(weight < 0 for weight, _ in parts) or whole <= 0:
        raise BadValue("streams to be merged need rates of 0 or more, at least one above 0; give (rate, tail) pairs")
    return quantile(lambda t: sum(weight * tail(t) for weight, tail in parts) / whole, p)


def normal_quantile(p: float) -> float:
    """z with Φ(z) = p, by halving."""
    _share(p)
    low, high = -40.0, 40.0
    for _ in range(FINEST):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if math.erfc(-middle / math.sqrt(2)) / 2 < p else (low, middle)
    return high


def lognormal_quantile(mean: float, sigma: float, p: float) -> float:
    """The quantile of a log-normal with this mean (not median) and spread σ of the logarithm: mean · e^(zσ − σ²/2)."""
    check_positive("mean", mean)
    check_positive("sigma", sigma, zero=True)
    return mean * math.exp(normal_quantile(p) * sigma - sigma * sigma / 2)


def _share(p: float) -> None:
    if not 0 < p < 1:
        raise BadValue(f"the quantile is {p!r}; give a share between 0 and 1, such as 0.99", "p")


def _calls(k: float) -> None:
    if not (k >= 1 and math.isfinite(k)):
        raise BadValue(f"a page that joins {k!r} calls; give 1 or more")


def joined_tail(ordered: Sequence[float], k: int, count: int = 60) -> list[tuple[float, float]]:
    """(seconds, share slower) of pages that join k of these requests, by rank: it ends with the slowest one. `ordered`: rising."""
    n = len(ordered)
    ranks = sorted({round(n ** (i / (count - 1))) for i in range(count)}, reverse=True)
    return [(ordered[n - rank], at_least_one(rank / n, k)) for rank in ranks]
