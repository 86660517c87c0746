"""One run of DP-SGD, five accountants: each proves an ε for the same noise, and all but the limit are upper bounds."""

from __future__ import annotations

import math

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.privacy.checks import check_delta, check_noise, check_rate, check_steps
from ironlaw.engine.privacy.composition import advanced, largest
from ironlaw.engine.privacy.gaussian import gaussian_epsilon
from ironlaw.engine.privacy.renyi import best_order, moments_conversion, tight_conversion
from ironlaw.errors import BadValue, unknown

BASIC, ADVANCED, MOMENTS, RDP, LIMIT = "basic", "advanced", "moments", "rdp", "gdp"
ACCOUNTANTS = (BASIC, ADVANCED, MOMENTS, RDP, LIMIT)
BOUNDS = (BASIC, ADVANCED, MOMENTS, RDP)  # the central limit of Gaussian privacy is not one: it may lie below the truth
LOUDEST = 1e6  # noise multipliers beyond are not tried
SPLITS = 30  # golden sections of the split of δ between steps and slack: to 1e-5 of its logarithm, where ε is flat


def epsilon(q: float, sigma: float, steps: float, delta: float, accountant: str = RDP, fractional: bool = False) -> float:
    """ε of `steps` steps at sampling rate q and noise multiplier σ. Neighbouring data sets differ by one record, added or left out."""
    check_rate(q)
    check_noise(sigma)
    check_steps(steps)
    check_delta(delta)
    if accountant == BASIC:
        return steps * step_epsilon(q, sigma, delta / steps)
    if accountant == ADVANCED:
        return _advanced(q, sigma, steps, delta)
    if accountant == LIMIT:
        mu = limit_mu(q, sigma, steps)
        return gaussian_epsilon(1 / mu, delta) if mu < 100 else math.inf
    if accountant not in ACCOUNTANTS:
        raise unknown("accountant", accountant, ACCOUNTANTS, field="accountant")
    return best_order(q, sigma, steps, delta, tight_conversion if accountant == RDP else moments_conversion, fractional)[0]


def step_epsilon(q: float, sigma: float, delta: float) -> float:
    """One step: ln(1 + q(e^ε − 1)), ε being what the noise alone gives at δ/q (amplification by sampling)."""
    alone = gaussian_epsilon(sigma, min(delta / q, 1 - 1e-12))
    return math.log1p(q * math.expm1(alone)) if alone < 700 else alone + math.log(q)


def limit_mu(q: float, sigma: float, steps: float) -> float:
    """μ = q √(T (e^(1/σ²) − 1)): many steps look like one release with noise 1/μ (Bu, Dong, Long, Su 2020)."""
    exponent = 1 / (sigma * sigma)
    return q * math.sqrt(steps * math.expm1(exponent)) if exponent < 700 else math.inf


def sigma_for(budget: float, q: float, steps: float, delta: float, accountant: str = RDP, fractional: bool = False) -> float:
    """The least noise multiplier with which the run keeps the budget."""
    check_positive("the budget", budget)
    high = 1.0
    while epsilon(q, high, steps, delta, accountant, fractional) > budget:
        high *= 2
        if high > LOUDEST:
            raise BadValue(f"no noise keeps ε ≤ {budget!r} at δ = {delta!r}; raise the budget, or take fewer steps", "epsilon")
    low = 0.01 if high == 1 else high / 2
    while high / low > 1 + 1e-7:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if epsilon(q, middle, steps, delta, accountant, fractional) > budget else (low, middle)
    return high


def steps_for(budget: float, q: float, sigma: float, delta: float, accountant: str = RDP, fractional: bool = False) -> int:
    """The most steps that keep the budget; 0 where one is too much."""
    check_positive("the budget", budget)
    return largest(lambda steps: epsilon(q, sigma, steps, delta, accountant, fractional) <= budget, 2**40)


def _advanced(q: float, sigma: float, steps: float, delta: float) -> float:
    """At the best split of δ: a share for all steps together, the rest as slack. Found by golden sections of its logarithm."""

    def total(log_share: float) -> float:
        share = math.exp(log_share)
        each = step_epsilon(q, sigma, share * delta / steps)
        return advanced(steps * each * each, steps * each * math.expm1(each), (1 - share) * delta) if each < 300 else math.inf

    low, high, golden = math.log(1e-9), math.log(1 - 1e-9), (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = total(left), total(right)
    for _ in range(SPLITS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = total(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = total(right)
    return min(at_left, at_right)
