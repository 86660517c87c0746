"""Act I's settings -> a line of requests. Times are whole nanoseconds, so that both cuts of the area agree to the last digit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import Run, simulate
from ironlaw.engine.streams import exponential, lognormal, split, uniform

IN_FLIGHT, RATE, SECONDS = 48, 2.0, 24.0  # the engineer's dashboard, and a service that gives it
TICK = 1e-9
RARE, LONGER = 0.01, 100  # two kinds of requests: so few take so many times longer
ARRIVALS = {"poisson": "Poisson", "regular": "regular", "bursts": "in bursts"}
SERVICES = {"fixed": "all the same", "exponential": "exponential", "lognormal": "log-normal", "two": "1 % a hundred times longer"}
ORDERS = {"fifo": "first come", "lifo": "last come", "random": "at random", "shortest": "shortest first"}


@dataclass(frozen=True)
class System:
    """Where the dials of Act I stand."""

    arrivals: str = "poisson"
    rate: float = RATE
    burst: int = 10
    service: str = "exponential"
    mean_s: float = SECONDS
    sigma: float = 0.8
    servers: int = 64
    order: str = "fifo"
    requests: int = 3000
    seed: int = 0

    @property
    def load(self) -> float:
        return self.rate * self.mean_s / self.servers

    @property
    def run(self) -> Run:
        return _run(self)


def system_of(values: Mapping[str, Any]) -> System:
    whole = {name: round(values[name]) for name in ("burst", "servers", "requests", "seed")}
    return System(values["arrivals"], values["rate"], service=values["service"], mean_s=values["mean"], sigma=values["sigma"],
                  order=values["order"], **whole)  # fmt: skip


@lru_cache(maxsize=32)
def _run(system: System) -> Run:
    arrivals, services = (tuple(round(t / TICK) for t in times) for times in (_arrivals(system), _services(system)))
    return simulate(arrivals, services, system.servers, system.order, system.seed)


def _arrivals(system: System) -> tuple[float, ...]:
    if system.arrivals == "regular":
        return tuple(i / system.rate for i in range(system.requests))
    return poisson(system.rate, system.requests, system.burst if system.arrivals == "bursts" else 1, system.seed)


def _services(system: System) -> tuple[float, ...]:
    seed, n, mean = split(system.seed, 2), system.requests, system.mean_s
    if system.service == "exponential":
        return tuple(mean * draw for draw in exponential(seed, n))
    if system.service == "lognormal":
        return lognormal(seed, n, mean, system.sigma)
    if system.service == "two":
        short = mean / (1 - RARE + RARE * LONGER)
        return tuple(short * (LONGER if draw < RARE else 1) for draw in uniform(seed, n))
    return (mean,) * n
