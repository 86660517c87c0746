"""Servers that wait until a batch is full and are free when it is: a request waits for those of its batch that are still to come.

Poisson requests at rate λ in batches of B: one that still needs k others waits Γ(k, λ), and every k from 0 to B − 1 is as likely. Seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.tails import quantile

SELDOM = 1e-6  # of the passes: so few that meet the next full batch change no digit


@dataclass(frozen=True, slots=True)
class FullBatches:
    """`service`: what a pass over a full batch takes."""

    rate: float
    most: int
    service: float

    def __post_init__(self) -> None:
        for name in ("rate", "most", "service"):
            check_positive(name, getattr(self, name))

    @property
    def exact(self) -> bool:
        """Whether the next batch hardly ever fills before a pass ends, so that none waits for a server."""
        expected = self.rate * self.service
        return 1.0 - math.fsum(_arrive(count, expected) for count in range(self.most)) < SELDOM

    @property
    def mean(self) -> float:
        return self.service + (self.most - 1) / (2.0 * self.rate)

    def tail(self, t: float) -> float:
        """The share of requests that take longer: Σ P(j come meanwhile)·(B − 1 − j)/B."""
        if t < self.service:
            return 1.0
        expected = self.rate * (t - self.service)
        return math.fsum(_arrive(count, expected) * (self.most - 1 - count) / self.most for count in range(self.most))

    def quantile(self, p: float) -> float:
        return quantile(self.tail, p)


def _arrive(count: int, expected: float) -> float:
    """The share of times that exactly so many come, Poisson; by logarithms, for many are expected of a large batch."""
    return math.exp(count * math.log(expected) - expected - math.lgamma(count + 1)) if expected else float(not count)
