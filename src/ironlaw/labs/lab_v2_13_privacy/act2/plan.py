"""Act II's settings -> a classifier that was trained with them, and what all runs on its records spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.numerics.pareto_2d import Point, frontier
from ironlaw.engine.privacy.accountants import RDP
from ironlaw.engine.privacy.attacks import accuracy as guesses
from ironlaw.engine.privacy.gaussian import mean_noise
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS, spent
from ironlaw.labs.lab_v2_13_privacy.runs import RECORDS as CONTEXTS
from ironlaw.registry.private_runs import (
    CLASSES,
    CLIPS,
    EPOCHS,
    FEATURES,
    NOISES,
    RATES,
    REAL,
    RECORDS,
    SPEEDS,
    PrivateRun,
    private_run,
    signals,
)  # fmt: skip
from ironlaw.systems.fields import among, whole
from ironlaw.units import counted, percent

ONE_IN = [10**k for k in range(2, 9)]
RUNS = (1, 2, 5, 10, 20, 50)


def in_all(runs: int) -> str:
    return f"{counted(runs, 'run')} in all"


@dataclass(frozen=True)
class Plan:
    """Where the dials of Act II stand. `runs`: trainings on the same records, the released one and those that chose its settings."""

    records: int = among(RECORDS, 1_000, "Records", shown="{:,}")
    rate: float = among(RATES, 0.04, "Sampling rate per step", shown=percent)
    noise: float = among(NOISES, 2.0, "Noise multiplier", dial="span", log=True)
    clip: float = among(CLIPS, 1.0, "Clip norm", shown="{:g}")
    speed: float = among(SPEEDS, 3.0, "Learning rate", shown="{:g}")
    epochs: int = among(EPOCHS, 10, "Epochs", shown="{:g}")
    runs: int = whole(1, "Runs, tuning included", most=50, dial="span", log=True, tried=RUNS)
    one_in: int = whole(
        10**4, "δ is one in", least=100, most=10**8, dial="span", log=True, steps=ONE_IN, tried=tuple(reversed(ONE_IN))
    )  # fmt: skip
    accountant: str = among(ACCOUNTANTS, RDP, "Accountant")

    @property
    def delta(self) -> float:
        return 1 / self.one_in

    @property
    def batch(self) -> float:
        return self.rate * self.records

    @property
    def steps(self) -> int:
        """The number of steps in one run."""
        return max(1, round(self.epochs / self.rate))

    @property
    def epsilon(self) -> float:
        """The ε of all runs together, each assumed to have spent as much as the released one."""
        return spent(self.rate, self.noise, self.steps * self.runs, self.delta, self.accountant)

    @property
    def alone(self) -> float:
        """ε of the released run, had there been no other."""
        return spent(self.rate, self.noise, self.steps, self.delta, self.accountant)

    @property
    def real(self) -> bool:
        return self.records <= REAL

    @property
    def trained(self) -> PrivateRun:
        return private_run(self.records, self.rate, self.noise, self.clip, self.speed, self.epochs)

    @property
    def plain(self) -> PrivateRun:
        """The same without clipping and noise."""
        return private_run(self.records, self.rate, 0.0, math.inf, self.speed, self.epochs)

    @property
    def surely(self) -> float:
        """Mean accuracy less two standard errors of the three seeds."""
        return self.trained.accuracy - 2 * self.trained.error

    @property
    def signal(self) -> float:
        """The norm of the mean clipped gradient before the first step."""
        return signals()[self.records, self.clip]

    @property
    def ground(self) -> float:
        """The norm of the noise on it."""
        return mean_noise(self.noise, self.clip, self.batch, FEATURES * CLASSES)

    @property
    def ratio(self) -> float:
        return self.signal / self.ground

    @property
    def attack(self) -> float:
        return guesses(self.epsilon, self.delta)


@lru_cache(maxsize=256)
def front(records: int, runs: int, delta: float, accountant: str, rates: tuple[float, ...] = RATES) -> tuple[tuple[float, float], ...]:
    """(ε, accuracy) of the trained designs that no other beats in both, least ε first."""
    best = [
        Point(
            f"{rate:g} {noise:g} {epochs}", spent(rate, noise, round(epochs / rate) * runs, delta, accountant),
            -_most(records, rate, noise, epochs),
        )
        for rate in rates for noise in NOISES for epochs in EPOCHS
    ]  # fmt: skip
    return tuple((point.cost, -point.harm) for point in frontier(best))


@lru_cache(maxsize=1024)
def _most(records: int, rate: float, noise: float, epochs: int) -> float:
    return max(private_run(records, rate, noise, clip, speed, epochs).accuracy for clip in CLIPS for speed in SPEEDS)


def records_near(slug: str) -> int:
    """The number that was trained and is nearest to the context's."""
    return min(RECORDS, key=lambda count: abs(math.log(count / CONTEXTS[slug])))


def premise() -> Plan:
    """The question's own design."""
    return Plan()


def changes(one: Plan) -> dict[str, float]:
    """The question's four changes to a design: option -> ε after it."""

    def after(rate: float = one.rate, steps: float = one.steps, clip: float = one.clip) -> float:
        noise = one.noise * clip / clip  # the multiplier is the noise's deviation over the clip norm
        return spent(rate, noise, steps * one.runs, one.delta, one.accountant)

    larger = min(1.0, 4 * one.rate)
    return {
        "batch": after(rate=larger, steps=one.epochs / larger), "epochs": after(steps=4 * one.steps), "tuning": after(steps=5 * one.steps),
        "clip": after(clip=3 * one.clip),
    }  # fmt: skip
