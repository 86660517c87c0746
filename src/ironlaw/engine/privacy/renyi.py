"""Rényi privacy of a step of DP-SGD: a batch is drawn by tossing a coin of probability q for each record, and its clipped sum gets noise.

Divergences add up over steps, order by order, and only their sum is turned into (ε, δ) (Abadi et al. 2016; Mironov, Talwar, Zhang 2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

from ironlaw.engine.privacy.checks import check_delta, check_noise, check_rate, check_steps
from ironlaw.errors import BadValue

MOST = 1024  # the highest order that is tried
FINE = 10  # steps between whole orders, where fractional ones are asked for; above order 11 they change nothing
BELOW = 11
REACH = 10.0  # deviations of a normal beyond which an integral has nothing to add
Conversion = Callable[[float, float, float], float]


@lru_cache(maxsize=16384)
def divergence(q: float, sigma: float, order: float) -> float:
    """One step, in nats, at an order above 1: the sum over how often the record counts, or its integral between whole orders."""
    check_rate(q)
    check_noise(sigma)
    if not order > 1:
        raise BadValue(f"the order is {order!r}; Rényi divergences need one above 1", "order")
    if q == 1:
        return order / (2 * sigma * sigma)
    log_moment = _sum(q, sigma, int(order)) if order == int(order) else _integral(q, sigma, order)
    return max(0.0, log_moment) / (order - 1)


def moments_conversion(total: float, order: float, delta: float) -> float:
    """ε as in 2016: total + ln(1/δ) / (order − 1)."""
    return total - math.log(delta) / (order - 1)


def tight_conversion(total: float, order: float, delta: float) -> float:
    """ε as in 2020 (Balle et al., theorem 21): total + ln((order − 1)/order) − (ln δ + ln order)/(order − 1)."""
    return max(0.0, total + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1))


def best_order(
    q: float, sigma: float, steps: float, delta: float, conversion: Conversion = tight_conversion, fractional: bool = False
) -> tuple[float, float]:
    """(ε, order): the least ε that any order proves. Both conversions fall and then rise with the order, so halving finds it."""
    check_delta(delta)
    check_steps(steps)

    def proves(order: float) -> float:
        return conversion(steps * divergence(q, sigma, order), order, delta)

    high = 2
    while high < MOST and proves(2 * high) <= proves(high):
        high *= 2
    low, high = max(2, high // 2), min(MOST, 2 * high)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if proves(middle + 1) < proves(middle) else (low, middle)
    orders: list[float] = [low]
    if fractional and low <= BELOW:
        first, last = max(1 - FINE, 1 - FINE * (low - 1)), FINE - 1
        while first < last:
            middle = (first + last) // 2
            first, last = (middle + 1, last) if proves(low + (middle + 1) / FINE) < proves(low + middle / FINE) else (first, middle)
        orders.append(low + first / FINE)
    return min((proves(order), order) for order in orders)


def _sum(q: float, sigma: float, order: int) -> float:
    """ln Σ C(order, k) (1 − q)^(order − k) q^k e^(k(k − 1)/2σ²)."""
    stay, counts = math.log1p(-q), math.log(q)
    spread, factorials = 1 / (2 * sigma * sigma), _log_factorials()
    whole = factorials[order]
    logs = [
        whole - factorials[k] - factorials[order - k] + (order - k) * stay + k * counts + k * (k - 1) * spread for k in range(order + 1)
    ]
    return _log_sum(logs)


@cache
def _log_factorials() -> tuple[float, ...]:
    """ln k!, as far as any order needs."""
    return tuple(math.lgamma(k + 1) for k in range(2 * MOST + 1))


def _integral(q: float, sigma: float, order: float) -> float:
    """ln of the mean of (1 − q + q·e^((2z − 1)/2σ²))^order over z normal with deviation σ, by the trapezoid rule.

    For so smooth a function on the whole line its error falls exponentially with the step. The function is below the sum of two bells, one
    around 0 and one around the order, so that there is nothing to add where neither reaches."""
    step = min(sigma / 6, sigma * sigma * 0.75)
    reach, peak = math.ceil(REACH * sigma / step), order / step
    apart = peak > 2 * reach + 2
    near = range(-reach, reach + 1 if apart else math.ceil(peak) + reach + 1)
    far = range(math.floor(peak) - reach, math.ceil(peak) + reach + 1) if apart else range(0)
    logs = []
    for i in (*near, *far):
        z = i * step
        power = (2 * z - 1) / (2 * sigma * sigma)
        ratio = math.log1p(q * math.expm1(power)) if power < 700 else math.log(q) + power
        logs.append(order * ratio - z * z / (2 * sigma * sigma))
    return _log_sum(logs) + math.log(step / (sigma * math.sqrt(2 * math.pi)))


def _log_sum(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))
