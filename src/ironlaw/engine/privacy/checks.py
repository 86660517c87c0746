"""What every law of privacy asks of its inputs."""

from __future__ import annotations

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


def check_delta(delta: float) -> float:
    """δ is a probability that is neither 0 nor 1."""
    if not 0 < delta < 1:
        raise BadValue(f"delta is {delta!r}; give a number between 0 and 1, below one over the records, such as 1e-5", "delta")
    return delta


def check_rate(q: float) -> float:
    """The share of the records that a step draws."""
    if not 0 < q <= 1:
        raise BadValue(f"the sampling rate is {q!r}; give the share of the records in a batch: above 0, at most 1", "rate")
    return q


def check_steps(steps: float) -> float:
    if not 1 <= steps < 1e15:
        raise BadValue(f"{steps!r} steps; give 1 or more", "steps")
    return steps


def check_noise(sigma: float) -> float:
    """The noise multiplier: standard deviation over clip norm. Below 0.01 nothing is private, and exponents overflow."""
    if not check_positive("the noise multiplier", sigma) >= 0.01:
        raise BadValue(f"the noise multiplier is {sigma!r}; give 0.01 or more, because no budget is met below that", "noise")
    return sigma
