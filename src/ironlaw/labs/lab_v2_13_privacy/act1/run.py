"""Act I's settings -> a run of DP-SGD: how often it draws, how many steps it takes, what each accountant proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.privacy.accountants import ACCOUNTANTS, MOMENTS, RDP, limit_mu
from ironlaw.engine.privacy.attacks import accuracy, missed, noise_accuracy, noise_missed
from ironlaw.engine.privacy.renyi import best_order, moments_conversion, tight_conversion
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS as NAMES
from ironlaw.labs.lab_v2_13_privacy.runs import spent
from ironlaw.systems.fields import among, figure, hundredths, whole

CONVERSIONS = {MOMENTS: moments_conversion, RDP: tight_conversion}


@dataclass(frozen=True)
class Run:
    """Where the dials of Act I stand."""

    records: int = whole(label="Records", least=1_000, most=1_000_000, dial="span", log=True)
    batch: int = whole(label="Average batch", least=10, most=100_000, dial="span", log=True)
    noise: float = figure(4, "Noise multiplier", low=0.3, high=16, dial="span", log=True)
    epochs: float = figure(100, "Epochs", low=1, high=1_000, dial="span", log=True)
    one_in: int = whole(10**5, "δ is one in", least=100, most=10**9, dial="span", log=True, steps=[10**k for k in range(2, 10)])
    accountant: str = among(NAMES, RDP, "Accountant")
    alarms: float = figure(10, "False alarms the attacker accepts", "%", low=0, high=100, dial="span", shows="attack", means=hundredths)

    @property
    def delta(self) -> float:
        return 1 / self.one_in

    @property
    def rate(self) -> float:
        return min(1.0, self.batch / self.records)

    @property
    def steps(self) -> float:
        return float(max(1, round(self.epochs / self.rate)))

    @property
    def epsilon(self) -> float:
        return self.by(self.accountant)

    def by(self, accountant: str) -> float:
        return spent(self.rate, self.noise, self.steps, self.delta, accountant)

    @property
    def all(self) -> dict[str, float]:
        return {name: self.by(name) for name in ACCOUNTANTS}

    @property
    def order(self) -> float:
        """The order of the divergence that proves most."""
        conversion = CONVERSIONS.get(self.accountant, tight_conversion)
        return best_order(self.rate, self.noise, self.steps, self.delta, conversion)[1]

    @property
    def attack(self) -> float:
        """The share of right guesses at best, by the promise alone."""
        return accuracy(self.epsilon, self.delta)

    @property
    def missed(self) -> float:
        return missed(self.alarms, self.epsilon, self.delta)

    @property
    def mu(self) -> float:
        """The run is as good as one release with noise 1/μ: nearly, with many steps; exactly, where every step has all records."""
        return math.sqrt(self.steps) / self.noise if self.rate >= 1 else limit_mu(self.rate, self.noise, self.steps)

    @property
    def noise_attack(self) -> float:
        """The share of right guesses that the best test against this very noise comes to."""
        return noise_accuracy(self.mu)

    def noise_missed(self, alarms: float) -> float:
        return noise_missed(alarms, self.mu)
