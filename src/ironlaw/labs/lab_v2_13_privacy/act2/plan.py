"""Act II's settings -> a classifier that was trained with them, and what all runs on its records spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw.engine.numerics.frontier import Point, frontier
from ironlaw.engine.privacy.accountants import RDP
from ironlaw.engine.privacy.attacks import accuracy as guesses
from ironlaw.engine.privacy.gaussian import mean_noise
from ironlaw.labs.lab_v2_13_privacy.runs import RECORDS as CONTEXTS
from ironlaw.labs.lab_v2_13_privacy.runs import spent
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

STOPS: dict[str, tuple[float, ...]] = {
    "records": RECORDS, "rate": RATES, "noise": NOISES, "clip": CLIPS, "speed": SPEEDS, "epochs": EPOCHS,
    "runs": (1, 2, 5, 10, 20, 50), "delta": tuple(10.0**-k for k in range(8, 1, -1)),
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Where the dials of Act II stand. `runs`: trainings on the same records, the released one and those that chose its settings."""

    records: int = 1_000
    rate: float = 0.04
    noise: float = 1.0
    clip: float = 1.0
    speed: float = 3.0
    epochs: int = 10
    runs: int = 10
    delta: float = 1e-4
    accountant: str = RDP

    @property
    def batch(self) -> float:
        return self.rate * self.records

    @property
    def steps(self) -> int:
        """Of one run."""
        return max(1, round(self.epochs / self.rate))

    @property
    def epsilon(self) -> float:
        """Of all runs together, each taken to have spent as much as the released one."""
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


def nearest(name: str, value: float) -> float:
    """The stop at which a design was trained."""
    return min(STOPS[name], key=lambda stop: abs(math.log(stop / value)))


def plan_of(values: Mapping[str, Any]) -> Plan:
    at = {name: nearest(name, float(values[name])) for name in ("records", "rate", "noise", "clip", "speed", "epochs")}
    return Plan(
        int(at["records"]), at["rate"], at["noise"], at["clip"], at["speed"], int(at["epochs"]), round(values["runs"]),
        1 / float(values["one_in"]), values["accountant"],
    )  # fmt: skip


def premise() -> Plan:
    """The question's own design."""
    return Plan(noise=2.0, runs=1)


def changes() -> dict[str, float]:
    """The question's four changes: option -> ε after it."""
    one = premise()
    return {
        "batch": spent(4 * one.rate, one.noise, one.epochs / (4 * one.rate), one.delta),
        "epochs": spent(one.rate, one.noise, 4 * one.steps, one.delta),
        "tuning": spent(one.rate, one.noise, 5 * one.steps, one.delta),
        "clip": spent(one.rate, one.noise * (3 * one.clip) / (3 * one.clip), one.steps, one.delta),
    }
