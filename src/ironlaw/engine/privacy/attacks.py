"""How well an attacker can tell whether a record was in the data: by the guarantee (ε, δ) alone, and with normal noise itself.

The guarantee holds for any mechanism that meets it, randomised response among them, which gives away the most. Noise that meets the same
guarantee gives away less: against one release with noise 1/μ the best test is right in Φ(μ/2) of all cases.
"""

from __future__ import annotations

import math

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.privacy.checks import check_noise
from ironlaw.errors import BadValue


def advantage(epsilon: float, delta: float = 0.0) -> float:
    """The most that true alarms can exceed false ones: (e^ε − 1 + 2δ) / (e^ε + 1); with δ = 0 it is tanh(ε/2)."""
    check_positive("epsilon", epsilon, zero=True)
    if not 0 <= delta <= 1:
        raise BadValue(f"delta is {delta!r}; give a number from 0 to 1", "delta")
    return math.tanh(epsilon / 2) + 2 * delta * math.exp(-epsilon) / (1 + math.exp(-epsilon))


def accuracy(epsilon: float, delta: float = 0.0) -> float:
    """The share of right guesses at best, where half of those asked about were in: ½ + half the advantage."""
    return 0.5 + advantage(epsilon, delta) / 2


def missed(false_alarms: float, epsilon: float, delta: float = 0.0) -> float:
    """The least share of members that a test with this share of false alarms misses: max(0, 1 − δ − e^ε·f, e^−ε·(1 − δ − f))."""
    if not 0 <= false_alarms <= 1:
        raise BadValue(f"the false alarm rate is {false_alarms!r}; give a number from 0 to 1", "false_alarms")
    check_positive("epsilon", epsilon, zero=True)
    steep = math.exp(min(epsilon, 700.0)) * false_alarms
    return max(0.0, 1 - delta - steep, math.exp(-epsilon) * (1 - delta - false_alarms))


def gaussian_advantage(sigma: float) -> float:
    """The advantage of the best test against one release with noise σ: 2Φ(1/2σ) − 1."""
    return math.erf(1 / (2 * math.sqrt(2) * check_noise(sigma)))


def noise_accuracy(mu: float) -> float:
    """The share of right guesses by the best test against one release with noise 1/μ, where half of those asked about were in: Φ(μ/2)."""
    return 0.5 + math.erf(check_positive("mu", mu, zero=True) / (2 * math.sqrt(2))) / 2


def noise_missed(false_alarms: float, mu: float) -> float:
    """The share of members that this test misses at a share of false alarms: Φ(Φ⁻¹(1 − f) − μ)."""
    if not 0 <= false_alarms <= 1:
        raise BadValue(f"the false alarm rate is {false_alarms!r}; give a number from 0 to 1", "false_alarms")
    check_positive("mu", mu, zero=True)
    if false_alarms in (0.0, 1.0):
        return 1.0 - false_alarms
    from statistics import NormalDist  # slow to import

    return NormalDist().cdf(NormalDist().inv_cdf(1 - false_alarms) - mu)
