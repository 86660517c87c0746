"""Theorems that put budgets together without looking into the mechanism: what k releases of (ε, δ) each are at most."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.privacy.checks import check_delta
from ironlaw.errors import BadValue, unknown

BASIC, ADVANCED, CONCENTRATED = "basic", "advanced", "zcdp"
KINDS = (BASIC, ADVANCED, CONCENTRATED)


def compose(kind: str, epsilons: Sequence[float], deltas: Sequence[float] = (), slack: float = 0.0) -> tuple[float, float]:
    """(ε, δ) of all together. `slack`: the δ that a better theorem may spend on top of the sum; basic composition needs none.

    `zcdp` takes releases that are purely ε-private, as Laplace noise is (Bun and Steinke 2016).
    """
    if not epsilons or (deltas and len(deltas) != len(epsilons)):
        raise BadValue(f"{len(epsilons)} budgets ε with {len(deltas)} δ; give at least one, and as many δ as ε or none", "epsilons")
    for epsilon in epsilons:
        check_positive("epsilon", epsilon, zero=True)
    spent = math.fsum(deltas)
    if kind == BASIC:
        return math.fsum(epsilons), spent
    check_delta(slack)
    squares = math.fsum(epsilon * epsilon for epsilon in epsilons)
    if kind == ADVANCED:
        return advanced(squares, math.fsum(epsilon * math.expm1(epsilon) for epsilon in epsilons), slack), spent + slack
    if kind != CONCENTRATED:
        raise unknown("way to compose", kind, KINDS, field="kind")
    if spent:
        raise BadValue("zcdp composes releases whose δ is 0; leave the deltas out, or take advanced", "deltas")
    return concentrated(squares / 2, slack), slack


def advanced(squares: float, drift: float, slack: float) -> float:
    """√(2 ln(1/δ') Σε²) + Σ ε(e^ε − 1) (Dwork, Rothblum, Vadhan 2010)."""
    return math.sqrt(2 * squares * -math.log(slack)) + drift


def concentrated(rho: float, slack: float) -> float:
    """ρ + 2√(ρ ln(1/δ)): what ρ of zero-concentrated privacy is at δ."""
    return rho + 2 * math.sqrt(rho * -math.log(slack))


def queries(kind: str, each: float, epsilon: float, delta: float) -> int:
    """How many releases of pure `each` a budget (ε, δ) allows, by one of the theorems."""
    check_positive("the cost of a query", each)
    check_positive("epsilon", epsilon)
    if kind not in KINDS:
        raise unknown("way to compose", kind, KINDS, field="kind")
    if kind == BASIC:
        return math.floor(epsilon / each * (1 + 1e-12))

    def meets(k: int) -> bool:
        squares = k * each * each
        total = advanced(squares, k * each * math.expm1(each), delta) if kind == ADVANCED else concentrated(squares / 2, delta)
        return total <= epsilon

    check_delta(delta)
    return largest(meets)


def largest(meets: Callable[[int], bool], most: int = 10**15) -> int:
    """The largest whole number that meets, where all below do too; 0 where 1 does not."""
    high = 1
    while high < most and meets(high):
        high *= 2
    low = high // 2 if high > 1 else 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
