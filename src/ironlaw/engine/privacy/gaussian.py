"""The Gaussian mechanism: a value that one record moves by at most 1, released with normal noise of deviation σ.

It is (ε, δ)-private exactly where δ ≥ Φ(1/2σ − εσ) − e^ε · Φ(−1/2σ − εσ) (Balle and Wang, ICML 2018, theorem 8).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.privacy.checks import check_delta, check_noise

FINEST = 200  # halvings of an interval: more than a double can tell apart
FAR = 25.0  # deviations beyond which a normal tail is taken from its series


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """The least δ at this ε."""
    check_noise(sigma)
    check_positive("epsilon", epsilon, zero=True)
    near, far = 1 / (2 * sigma) - epsilon * sigma, 1 / (2 * sigma) + epsilon * sigma
    # e^ε · Φ(−far) with the exponent taken together: near² = far² − 2ε
    return max(0.0, math.erfc(-near / math.sqrt(2)) / 2 - math.exp(-near * near / 2) * _scaled_tail(far))


def gaussian_epsilon(sigma: float, delta: float) -> float:
    """The least ε at this δ; 0 where no ε is needed."""
    check_delta(delta)
    if gaussian_delta(sigma, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(sigma, high) > delta:
        high *= 2
    return halved(0.0, high, lambda epsilon: gaussian_delta(sigma, epsilon) > delta)


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least noise that gives (ε, δ)."""
    check_delta(delta)
    check_positive("epsilon", epsilon)
    high = 1.0
    while gaussian_delta(high, epsilon) > delta:
        high *= 2
    return halved(0.01, high, lambda sigma: gaussian_delta(sigma, epsilon) > delta)


def classical_sigma(epsilon: float, delta: float) -> float:
    """√(2 ln(1.25/δ)) / ε: enough noise for ε below 1, and not always beyond (Dwork and Roth, theorem A.1)."""
    return math.sqrt(2 * math.log(1.25 / check_delta(delta))) / float(check_positive("epsilon", epsilon))


def mean_noise(sigma: float, clip: float, expected: float, parameters: float = 1) -> float:
    """The norm of the noise on a mean gradient: σ·C on each parameter of the sum, over the records that a batch has on average."""
    return sigma * clip * math.sqrt(parameters) / float(check_positive("the batch", expected))


def halved(low: float, high: float, short: Callable[[float], bool]) -> float:
    """The least value between the two that is not short, by halving; `high` is known not to be."""
    for _ in range(FINEST):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def _scaled_tail(x: float) -> float:
    """Φ(−x) · e^(x²/2) for x ≥ 0."""
    if x < FAR:
        return math.exp(x * x / 2) * math.erfc(x / math.sqrt(2)) / 2
    inverse = 1 / (x * x)
    return (1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse))) / (x * math.sqrt(2 * math.pi))
