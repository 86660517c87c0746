"""What robustness costs: passes of an attack while training, and samples of a certificate by smoothing.

A pass forward, one for the gradient of the input and one for that of the weights are equal work. A training step is all three; a step of an
attack needs no gradient of the weights: two. Training against K steps of attack then takes (2K + 3) / 3 of a plain step, not K + 1.
"""

from __future__ import annotations

import math

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.numerics.shares import lower_bound
from ironlaw.engine.serving.tails import normal_quantile
from ironlaw.errors import BadValue

ALMOST_ONE = 1 - 2**-53


def attack_cost(steps: int, restarts: int = 1) -> float:
    """Arithmetic of a training step against an attack of so many steps, over that of a plain one."""
    return (2 * _count("steps", steps, 0) * _count("restarts", restarts, 1) + 3) / 3


def evaluation_cost(steps: int, restarts: int = 1) -> float:
    """The cost of attacking a batch and judging it, over one forward pass: each step forward and back, and a last pass."""
    return 2 * _count("steps", steps, 0) * _count("restarts", restarts, 1) + 1.0


def radius(sigma: float, hits: int, samples: int, doubt: float = 0.001) -> float:
    """Within this distance (L2) the smoothed classifier surely says the same, but for `doubt`: σ·Φ⁻¹(lower bound); 0: it abstains.

    `hits` of `samples` noisy copies had the top class (Cohen, Rosenfeld, Kolter 2019)."""
    check_positive("sigma", sigma)
    if not 0 < doubt < 1:
        raise BadValue(f"doubt is {doubt!r}; give a share between 0 and 1, such as 0.001", "doubt")
    if not 0 <= hits <= _count("samples", samples, 1):
        raise BadValue(f"{hits} hits in {samples} samples; give no more hits than samples", "hits")
    least = lower_bound(hits, samples, doubt)
    return sigma * normal_quantile(min(least, ALMOST_ONE)) if least > 0.5 else 0.0


def largest_radius(sigma: float, samples: int, doubt: float = 0.001) -> float:
    """What so many samples can certify at most, with every one of them right."""
    return radius(sigma, samples, samples, doubt)


def samples_for(sigma: float, distance: float, doubt: float = 0.001) -> int:
    """The fewest samples, all right, that certify a distance: doubt^(1/n) ≥ Φ(distance/σ)."""
    check_positive("distance", distance)
    share = math.erfc(-distance / check_positive("sigma", sigma) / math.sqrt(2)) / 2
    if share >= 1:
        raise BadValue(f"a distance of {distance!r} at σ = {sigma!r}; no number of samples certifies it: add more noise", "distance")
    return max(1, math.ceil(math.log(doubt) / math.log(share)))


def _count(what: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadValue(f"{what} is {value!r}; give a whole number of at least {least}", what)
    return value
