"""What requests see at servers that batch: by a closed form where there is one, else by a simulation that is long enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw.engine.serving.batching import batch_server, full_times
from ironlaw.engine.serving.full_batches import FullBatches
from ironlaw.engine.serving.queues import md1

P = 0.99
FILLS = 3  # times that servers which hold back for full batches are filled, at least
EACH = 100  # requests in each of several lines, at least


@dataclass(frozen=True)
class Outcome:
    """Times are infinite where the line grows without end."""

    mean: float
    p99: float
    busy: float
    batch: float
    tail: tuple[tuple[float, float], ...] = ()  # (seconds, share of requests that take longer)


ENDLESS = Outcome(math.inf, math.inf, 1.0, math.nan)


@dataclass(frozen=True)
class BatchServers:
    """`times`: (batch, seconds of a pass), straight lines between. `split_lines`: a line for each replica, dealt at random."""

    times: tuple[tuple[int, float], ...]
    most: int = 1
    policy: str = "waiting"
    timeout: float = 0.0
    replicas: int = 1
    split_lines: bool = False
    burst: int = 1

    @property
    def full(self) -> float:
        """Seconds of a full batch."""
        return full_times(dict(self.times), self.most)[self.most]

    @property
    def capacity(self) -> float:
        return self.replicas * self.most / self.full

    def outcome(self, rate: float, requests: int, batches: int = 30, shares: tuple[float, ...] = ()) -> Outcome:
        """Comes from at least `requests` requests and, where they queue, `batches` full batches. `shares`: where the tail is read."""
        return _outcome(self, rate, requests, batches, shares)

    def simulated(self, rate: float, requests: int, batches: int) -> int:
        """How many requests a simulation needs: enough batches where requests queue, every server at work, every line with some."""
        at_work = min(self.replicas, 2 + math.ceil(2 * rate * self.full / self.most))  # with room for chance
        lines = self.replicas if self.split_lines else at_work
        return max(
            requests,
            batches * self.most if rate * dict(self.times)[1] > 1 else 0,
            FILLS * self.most * lines if self.policy == "fixed" else 0,
            EACH * self.replicas if self.split_lines else 0,
        )

    @property
    def exact(self) -> bool:
        """Whether each line is M/D/1: one at a time, Poisson arrivals, a server of its own."""
        alone = self.split_lines or self.replicas == 1
        return self.most == 1 and self.policy != "timeout" and self.burst == 1 and alone


@lru_cache(maxsize=8192)
def _outcome(servers: BatchServers, rate: float, requests: int, batches: int, shares: tuple[float, ...]) -> Outcome:
    if rate >= servers.capacity:
        return ENDLESS
    if servers.exact:
        line = md1(rate / servers.replicas, servers.full)
        tail = tuple((line.quantile(p), 1 - p) for p in shares)
        return Outcome(line.mean, line.quantile(P), rate * servers.full / servers.replicas, 1.0, tail)
    if servers.split_lines and servers.burst == 1:  # Poisson requests dealt at random are Poisson in each line, and all lines are alike
        return _outcome(replace(servers, replicas=1, split_lines=False), rate / servers.replicas, requests, batches, shares)
    if servers.policy == "fixed" and servers.burst == 1 and not servers.split_lines:
        law = FullBatches(rate, servers.most, servers.full)
        if law.exact:
            tail = tuple((law.quantile(p), 1 - p) for p in shares)
            return Outcome(law.mean, law.quantile(P), rate / servers.capacity, float(servers.most), tail)
    served = batch_server(
        rate, dict(servers.times), servers.most, policy=servers.policy, timeout=servers.timeout, replicas=servers.replicas,
        split_lines=servers.split_lines, burst=servers.burst, n=servers.simulated(rate, requests, batches),
    )  # fmt: skip
    tail = tuple((served.quantile(p), 1 - p) for p in shares)
    return Outcome(served.mean, served.quantile(P), served.busy, served.batch, tail)
