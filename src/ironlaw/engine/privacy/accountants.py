"""One run of DP-SGD, five accountants: each proves an ε for the same noise, and all but the limit are upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.privacy.checks import check_delta, check_noise, check_rate, check_steps
from ironlaw.engine.privacy.composition import advanced, largest
from ironlaw.engine.privacy.gaussian import gaussian_epsilon
from ironlaw.engine.privacy.renyi import MOST, best_order, moments_conversion, tight_conversion
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
    if budget < _least(delta, accountant):
        raise _out_of_reach(budget, delta)

    def spent(sigma: float) -> float:
        return epsilon(q, sigma, steps, delta, accountant, fractional)

    low, high = 0.01, 1.0
    before, after = math.inf, spent(high)
    while after > budget:
        low, high, before = high, 2 * high, after
        if high > LOUDEST:
            raise _out_of_reach(budget, delta)
        after = spent(high)
    return _quietest(spent, budget, (low, before), (high, after))


def _least(delta: float, accountant: str) -> float:
    """What a Rényi accountant proves of steps that give nothing away; any noise spends more."""
    conversion = {MOMENTS: moments_conversion, RDP: tight_conversion}.get(accountant)
    return conversion(0.0, MOST, delta) if conversion else 0.0


def _out_of_reach(budget: float, delta: float) -> BadValue:
    return BadValue(f"no noise keeps ε ≤ {budget!r} at δ = {delta!r}; raise the budget, or take fewer steps", "epsilon")


def _quietest(spent: Callable[[float], float], budget: float, left: tuple[float, float], right: tuple[float, float]) -> float:
    """Where ε falls to the budget, to 1e-7. The logarithm of ε is nearly straight over that of σ, so that a line between the ends meets the
    place in a few steps; after one that took off less than half, as beside the place, the ends are moved together from both sides."""
    (low, before), (high, after) = left, right
    side, last = 0, math.inf
    above = math.log(before / budget) if math.isfinite(before) else math.inf
    below = math.log(after / budget) if after else -math.inf
    while (width := math.log(high / low)) > 1e-7:
        straight = width <= last / 2 and math.isfinite(above) and math.isfinite(below) and above > below
        last = width if width <= last / 2 else math.inf
        part = above / (above - below) if straight else 0.5
        sigma = low * math.exp(min(max(part * width, 0.4e-7), width - 0.4e-7))
        now = spent(sigma)
        if now > budget:
            low, above, below = sigma, math.log(now / budget) if math.isfinite(now) else math.inf, below / 2 if side > 0 else below
            side = 1
        else:
            high, below, above = sigma, math.log(now / budget) if now else -math.inf, above / 2 if side < 0 else above
            side = -1
    return high


def steps_for(budget: float, q: float, sigma: float, delta: float, accountant: str = RDP, fractional: bool = False) -> int:
    """The most steps that keep the budget; 0 where one is too much."""
    check_positive("the budget", budget)
    return largest(lambda steps: epsilon(q, sigma, steps, delta, accountant, fractional) <= budget, 2**40)


def _advanced(q: float, sigma: float, steps: float, delta: float) -> float:
    """The best split of δ is a share for all steps together, and the rest as slack. Found by golden sections of its logarithm."""

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
