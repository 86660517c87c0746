"""Act I's settings -> a line of requests. Times are whole nanoseconds, so that both cuts of the area agree to the last digit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import Run, simulate
from ironlaw.engine.serving.services import two_kinds
from ironlaw.engine.streams import exponential, lognormal, split, uniform
from ironlaw.systems.fields import among, figure, whole

IN_FLIGHT, RATE, SECONDS = 48, 2.0, 24.0  # the engineer's dashboard, and a service that gives it
TICK = 1e-9
RARE, LONGER = 0.01, 100  # two kinds of requests: so few take so many times longer
ARRIVALS = {"poisson": "Poisson", "regular": "regular", "bursts": "in bursts"}
SERVICES = {"fixed": "all the same", "exponential": "exponential", "lognormal": "log-normal", "two": "1% take a hundred times longer"}
ORDERS = {"fifo": "first come, first served", "lifo": "last come, first served", "random": "in random order", "shortest": "shortest first"}


CUTS = {"columns": "columns", "rows": "rows"}
WINDOWS = {"empty": "the whole run", "cut": "a slice"}


@dataclass(frozen=True)
class System:
    """Where the dials of Act I stand: a line, and how its area is looked at."""

    cut: str = among(CUTS, "columns", "Cut the area into")
    arrivals: str = among(ARRIVALS, "regular", "Arrivals")
    burst: int = whole(10, "Requests in a burst", most=50, dial="span")
    rate: float = figure(RATE, "Requests per second", "/s", low=0.1, high=1000, dial="span", log=True)
    service: str = among(SERVICES, "fixed", "Service times", dial="select")
    sigma: float = figure(0.8, "Spread σ of their logarithm", low=0.1, high=1.5, dial="span", step=0.1)
    mean: float = figure(SECONDS, "Mean service time", "s", low=0.001, high=60, dial="span", log=True)
    servers: int = whole(64, "Servers", most=64, dial="span", log=True)
    order: str = among(ORDERS, "fifo", "Order of service", dial="select")
    requests: int = whole(3000, "Requests in the run", least=50, most=5000, dial="span", log=True)
    window: str = among(WINDOWS, "empty", "Window")
    opens: float = figure(25, "Window opens after", "%", low=0, high=90, dial="span")
    closes: float = figure(60, "Window closes after", "%", low=10, high=100, dial="span")
    seed: int = whole(0, "New random run", least=0, most=20, dial="span")

    @property
    def load(self) -> float:
        return self.rate * self.mean / self.servers

    @property
    def run(self) -> Run:
        """The same however it is looked at."""
        return _run(replace(self, cut="columns", window="empty", opens=25, closes=60))

    @property
    def edges(self) -> tuple[int, int] | None:
        """Nanoseconds after the first arrival at which the window opens and closes; None from empty to empty."""
        if self.window == "empty":
            return None
        opens, closes = (round(self.run.span * share / 100) for share in sorted((self.opens, self.closes)))
        return opens, max(closes, opens + 1)


@lru_cache(maxsize=32)
def _run(system: System) -> Run:
    arrivals, services = (tuple(round(t / TICK) for t in times) for times in (_arrivals(system), _services(system)))
    return simulate(arrivals, services, system.servers, system.order, system.seed)


def _arrivals(system: System) -> tuple[float, ...]:
    if system.arrivals == "regular":
        return tuple(i / system.rate for i in range(system.requests))
    return poisson(system.rate, system.requests, system.burst if system.arrivals == "bursts" else 1, system.seed)


def _services(system: System) -> tuple[float, ...]:
    seed, n, mean = split(system.seed, 2), system.requests, system.mean
    if system.service == "exponential":
        return tuple(mean * draw for draw in exponential(seed, n))
    if system.service == "lognormal":
        return lognormal(seed, n, mean, system.sigma)
    if system.service == "two":
        return tuple(two_kinds(uniform(seed, n), mean, RARE, LONGER))
    return (mean,) * n
