"""Act II's settings -> a calm day, a spike, and what is there to answer at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw.engine.serving.availability import in_series, replicated
from ironlaw.engine.serving.retries import attempts, stuck
from ironlaw.engine.serving.service_layers import Layers
from ironlaw.engine.serving.storms import Outcome, Storm, run_storm
from ironlaw.kit import settings
from ironlaw.systems.fields import among, figure, hundredths, whole

SERVICE = 0.010  # seconds that a replica works on a request
SPIKE, BEGINS, LASTS, AFTER = 1.875, 10.0, 10.0, 60.0  # times the usual requests, from 80% of what can be done to 150; seconds
UNTIL = BEGINS + LASTS + AFTER
SHORT, COARSE = 20.0, 256  # seconds after the spike that are counted while a dial is turned, and steps of sums
WINDOW = 2.0  # seconds of a point in the picture
PROMISED, WITHIN, LATENCY = 0.9995, 0.999, 0.3  # available; a share of the requests, and seconds in which they are answered
MOST_COPIES, MOST_REPLICAS = 0.05, 5  # of the requests; of a layer
EVERY, ONE = "every", "one"
WHERE = {EVERY: "every layer", ONE: "only the layer above the last"}
OLDEST, NEWEST = "fifo", "lifo"
ORDERS = {OLDEST: "oldest first", NEWEST: "newest first"}
NONE = 0  # of a menu: no limit, no budget, no breaker, no copies
BUDGETS = {NONE: "unlimited", 1: "1%", 5: "5%", 10: "10%", 20: "20%", 50: "50%", 100: "100%"}
LINES = {NONE: "no limit", 5: "5", 10: "10", 20: "20", 40: "40", 100: "100", 400: "400"}
BREAKERS = {NONE: "never", 25: "25% fail", 50: "50% fail", 75: "75% fail"}
HEDGES = {NONE: "never", 50: "P50", 80: "P80", 90: "P90", 95: "P95", 99: "P99", 99.9: "P99.9"}
MOST_RETRIES, SENT = 10, 4.0  # that are simulated, and the load of what can be done from which more of them change nothing


def _share_or_none(percents: float) -> float | None:
    return percents / 100 if percents else None


@dataclass(frozen=True)
class Plan:
    """Where the dials of Act II stand; seconds and shares. `load`: requests per second, which every layer gets. `growth`: each caller's
    timeout over that of the one it calls. `together`: requests in which one cause makes all layers equally slow. It opens as asked: the
    last layer's callers retry three times, at 80% of capacity."""

    load: float = figure(320, "Traffic", "/s", low=10, high=500, dial="span", step=5)
    layers: int = whole(5, "Layers", most=6, dial="span")
    retries: int = whole(3, "Retries per call", least=0, most=5, dial="span")
    where: str = among(WHERE, ONE, "Who retries")
    budget: float | None = among(BUDGETS, NONE, "Retry budget, share of requests", dial="select", means=_share_or_none, shows="spike")
    backoff: float = figure(0, "Backoff before the first retry", "s", low=0, high=2, dial="span", step=0.1, shows="spike")
    timeout: float = figure(0.5, "Timeout of the last layer", "s", low=0.05, high=2, dial="span", log=True)
    growth: float = figure(1.2, "Timeout of each caller, relative to the one it calls", "×", low=0.8, high=2, dial="span", step=0.05)
    limit: int | None = among(LINES, NONE, "Queue limit, in requests", dial="select", means=lambda count: count or None, shows="spike")
    order: str = among(ORDERS, OLDEST, "Order of service", shows="spike")
    breaker: float | None = among(BREAKERS, NONE, "Circuit breaker opens when", dial="select", means=_share_or_none, shows="spike")
    hedge: float | None = among(HEDGES, NONE, "Hedged copy after", dial="select", means=_share_or_none, shows="latencies")
    replicas: int = whole(4, "Replicas per layer", most=MOST_REPLICAS, dial="span")
    up: float = figure(99.9, "Availability of one replica", "%", low=99, high=99.99, dial="span", step=0.01, means=hundredths, shows="down")
    common: float = figure(10, "Failures that take down all replicas", "%", low=0, high=100, dial="span", means=hundredths, shows="down")
    together: float = figure(
        0, "Requests slowed in all layers at once", "%", low=0, high=100, dial="span", means=hundredths, shows="latencies"
    )
    after: float = AFTER
    steps: int = 0

    @property
    def share(self) -> float:
        """What comes, of what a layer's replicas can do: one more takes load off the others."""
        return self.load * SERVICE / self.replicas

    @property
    def amplified(self) -> float:
        """Attempts at the last layer for each request, where all of them are late."""
        return attempts(1.0, self.retries, self.layers if self.where == EVERY else 1)

    @property
    def late_load(self) -> float:
        """What is then sent, of what can be done, with the budget."""
        extra = self.amplified - 1
        return self.share * (1 + (extra if self.budget is None else min(extra, self.budget)))

    @property
    def stuck(self) -> bool:
        return stuck(self.share, self.amplified - 1, self.budget)

    @property
    def outer(self) -> float:
        """The user's timeout."""
        return self.timeout * self.growth ** (self.layers - 1)

    @property
    def hedged(self) -> float | None:
        """A copy needs another replica."""
        return self.hedge if self.replicas > 1 else None

    @property
    def calm(self) -> Layers:
        return calm(Layers(
            self.layers, self.share, SERVICE, hedge=self.hedged, timeout=self.timeout, retries=self.retries, budget=self.budget,
            steps=self.steps, servers=self.replicas, dependence=self.together,
        ))  # fmt: skip

    @property
    def latency(self) -> float:
        """Seconds at the promised share, on a calm day."""
        return latency(self.calm)

    @property
    def copies(self) -> float:
        return self.calm.copies

    @property
    def needed(self) -> int:
        """Replicas that must be up to carry the load, which may be more than there are."""
        return max(1, math.ceil(self.load * SERVICE * (1 + self.copies) - 1e-9))

    @property
    def layer_up(self) -> float:
        return replicated(self.up, self.replicas, self.needed, self.common) if self.needed <= self.replicas else 0.0

    @property
    def available(self) -> float:
        return in_series([self.layer_up] * self.layers)

    @property
    def simulated(self) -> int:
        """Retries of the run: no more than keep a late line late many times over."""
        return round(min(self.amplified - 1, MOST_RETRIES, math.ceil(SENT / self.share)))

    @property
    def storm(self) -> Storm:
        """What one replica of the last layer goes through, with its part of the requests and of the line."""
        return Storm(
            1 / SERVICE, load=self.share, spike=SPIKE * self.share, begins=BEGINS, lasts=LASTS, until=BEGINS + LASTS + self.after,
            timeout=self.timeout, retries=self.simulated, budget=self.budget, backoff=self.backoff, limit=self.limit, order=self.order,
            breaker=self.breaker,
        )  # fmt: skip

    @property
    def bare(self) -> Plan:
        """The same with nothing done about retries."""
        return replace(self, budget=None, backoff=0.0, limit=None, order=OLDEST, breaker=None)

    @property
    def course(self) -> Course:
        return course(self.storm)


@dataclass(frozen=True)
class Course:
    """A run through the spike: (seconds, sent, answered in time) in short stretches, as shares of what can be done; seconds until it is
    back from the spike's end, infinite where it never is; the goodput of the last ten seconds."""

    points: tuple[tuple[float, float, float], ...]
    back: float
    last: float


@lru_cache(maxsize=1024)
def course(storm: Storm) -> Course:
    return course_of(run_storm(storm))


def course_of(outcome: Outcome) -> Course:
    points = tuple((end - WINDOW / 2, sent, good) for end, sent, good in outcome.windows(WINDOW))
    until = outcome.storm.until
    return Course(points, outcome.back_after(), outcome.goodput(until - 10.0, until))


@lru_cache(maxsize=256)
def calm(layers: Layers) -> Layers:
    """One for equal settings, which keeps what was computed of it."""
    return layers


@lru_cache(maxsize=256)
def latency(layers: Layers) -> float:
    return layers.quantile(WITHIN)


PREMISE = Plan(80.0, layers=1, where=ONE, replicas=1)  # the question's own: one service, three retries, a plain line


def plan_of(values: Mapping[str, Any]) -> Plan:
    moving = bool(values.get("moving"))
    return settings.read(Plan, values, after=SHORT if moving else AFTER, steps=COARSE if moving else 0)
