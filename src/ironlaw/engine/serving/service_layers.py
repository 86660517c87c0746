"""Services that call each other, layer by layer, on a calm day: how busy each is with copies and retries, and what a request takes.

The replicas of a layer share one line, and requests come at random (M/M/c; with one replica a time is exponential, service / (1 − ρ)).
In a share of the requests one cause makes all layers equally slow; in the others what a layer takes is independent of the layer before.
Copies of late requests are work like any other, and what a copy takes is taken as independent of the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.laws import Exponential, Hedged, Law, Retried
from ironlaw.engine.serving.queues import Tail, mmc
from ironlaw.engine.serving.retries import attempts
from ironlaw.engine.serving.sums import Total, total
from ironlaw.errors import BadValue

ROUNDS = 200  # of retries that make retries


@dataclass(frozen=True)
class Pooled(Law):
    """What a request takes at servers that share one line, its own service with it."""

    rate: float
    service: float
    servers: int

    def tail(self, t: float) -> float:
        return self._tail(t) if t > 0 else 1.0

    @cached_property
    def _tail(self) -> Tail:
        return mmc(self.rate, self.service, self.servers).tail


@dataclass(frozen=True)
class Layers:
    """`load`: of what the replicas of a layer can do, without copies and retries. `hedge`: the quantile after which a copy is sent.
    `timeout`, `retries`: of whoever calls the last layer; `budget`: retries per request, at most. `servers`: replicas of a
    layer, on one line. `dependence`, `steps`: as in `sums.total`."""

    count: int
    load: float
    service: float
    hedge: float | None = None
    timeout: float = math.inf
    retries: int = 0
    budget: float | None = None
    steps: int = 0
    servers: int = 1
    dependence: float = 0.0

    def __post_init__(self) -> None:
        for name in ("load", "service", "timeout"):
            check_positive(name, getattr(self, name)) if getattr(self, name) != math.inf else None
        if isinstance(self.count, bool) or not 1 <= self.count <= 100:
            raise BadValue(f"{self.count!r} layers; give 1 to 100", "count")
        if self.hedge is not None and not 0 < self.hedge < 1:
            raise BadValue(f"copies after the quantile {self.hedge!r}; give a share between 0 and 1, such as 0.95", "hedge")

    @property
    def copies(self) -> float:
        """Copies per request and layer, for calls that are not answered by then."""
        return 0.0 if self.hedge is None else 1.0 - self.hedge

    def one(self, rho: float) -> Law:
        """What a layer takes that is so busy, the first of two answers where it hedges."""
        plain: Law = Exponential(self.service / (1.0 - rho))
        if self.servers > 1:
            plain = Pooled(rho * self.servers / self.service, self.service, self.servers)
        return plain if self.hedge is None else Hedged(plain, plain.quantile(self.hedge))

    @cached_property
    def attempts(self) -> float:
        """Attempts per request at the last layer; infinite where it can't keep up. Retries are load, and load makes more retries."""
        now = 1.0
        for _ in range(ROUNDS):
            rho = self.load * (1.0 + self.copies) * now
            if rho >= 1.0:
                return math.inf
            late = 0.0 if math.isinf(self.timeout) else self.one(rho).tail(self.timeout)
            then = attempts(late, self.retries)
            then = then if self.budget is None else min(then, 1.0 + self.budget)
            if then <= now * (1.0 + 1e-9):
                break
            now = then
        return now

    @property
    def busy(self) -> float:
        """ρ of the last layer."""
        return self.load * (1.0 + self.copies) * self.attempts

    @cached_property
    def whole(self) -> Total | None:
        """What a request takes through all layers; None where it would wait forever."""
        if self.busy >= 1.0:
            return None
        last = self.one(self.busy)
        if not math.isinf(self.timeout):
            last = Retried(last, self.timeout, self.retries)
        return total([self.one(self.load * (1.0 + self.copies))] * (self.count - 1) + [last], self.dependence, self.steps)

    def quantile(self, p: float) -> float:
        return math.inf if self.whole is None else self.whole.quantile(p)
