"""Attempts that a request costs where failures are tried again, and when the late work that they leave keeps a service late forever."""

from __future__ import annotations

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


def attempts(failure: float, retries: int, layers: int = 1) -> float:
    """Attempts that reach the last of the layers for each request, where an attempt fails with this probability and every layer tries
    again: ((1 − f^(r+1)) / (1 − f))^layers; with f = 1, (r + 1)^layers."""
    if not 0 <= failure <= 1:
        raise BadValue(f"the probability of failure is {failure!r}; give a number from 0 to 1", "failure")
    _count("retries", retries, 0)
    each = float(retries + 1) if failure == 1 else (1 - failure ** (retries + 1)) / (1 - failure)
    return each ** _count("layers", layers, 1)


def stuck(load: float, retries: float, budget: float | None = None) -> bool:
    """Whether a state in which every answer is late can keep itself up: load · (1 + retries) ≥ 1, retries held to the budget.

    `budget`: retries per request, at most, on average; None means no limit.
    """
    check_positive("load", load)
    check_positive("retries", retries, zero=True)
    extra = retries if budget is None else min(retries, check_positive("budget", budget, zero=True))
    return bool(load * (1 + extra) >= 1)


def largest_retries(load: float) -> float:
    """Retries per request below which a service at this load always comes back."""
    return max(0.0, 1.0 / float(check_positive("load", load)) - 1.0)


def _count(what: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadValue(f"{what} is {value!r}; give a whole number of at least {least}", what)
    return value
