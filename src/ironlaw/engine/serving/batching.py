"""A server that takes several requests at once: a batch of b takes T(b). Busy is not loaded.

A policy is how long a server that is free holds back for a fuller batch: not at all ("waiting": it takes what waits), until the batch is
full ("fixed"), or until the first in line has waited `timeout`. "one" takes requests one by one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapreplace
from itertools import accumulate

from ironlaw.engine.arrays import interpolate
from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.line import ranked
from ironlaw.engine.streams import exponential, split, uniform
from ironlaw.errors import BadValue

POLICIES = ("one", "fixed", "waiting", "timeout")
START = 0.1  # the share of requests that is left out: the line begins empty


@dataclass(frozen=True)
class Served:
    """What a server that batches did with a stream of requests; every time is infinite where the line grows without end."""

    rate: float
    capacity: float  # requests per second with every batch full
    busy: float  # the share of time in which a server works
    batch: float  # requests in a batch, on average
    latencies: tuple[float, ...] = field(repr=False)  # seconds, sorted; empty where the line grows without end

    @property
    def load(self) -> float:
        """The share of what the servers can do that is asked of them."""
        return self.rate / self.capacity

    @property
    def stable(self) -> bool:
        return self.rate < self.capacity

    @property
    def mean(self) -> float:
        return math.fsum(self.latencies) / len(self.latencies) if self.stable else math.inf

    @property
    def growth(self) -> float:
        """Requests that join the line each second and are not served."""
        return max(0.0, self.rate - self.capacity)

    def quantile(self, p: float) -> float:
        """The seconds that a share `p` of the requests stay within."""
        return ranked(self.latencies, p) if self.stable else math.inf

    def waiting_after(self, seconds: float) -> float:
        """How many wait after so long, where the line grows without end."""
        return self.growth * seconds


def batch_server(
    rate: float, times: Mapping[int, float], most: int, *, policy: str = "waiting", timeout: float = 0.0, replicas: int = 1,
    split_lines: bool = False, burst: int = 1, n: int = 20_000, seed: int = 0,
) -> Served:  # fmt: skip
    """Poisson arrivals, in bursts of `burst`, at `replicas` that take at most `most` at a time; `times` gives T(b), straight between sizes.

    The replicas share one line, or each has its own (`split_lines`), to which requests are dealt at random.
    """
    _check(most, policy, replicas, burst, n)
    check_positive("rate", rate)
    check_positive("timeout", timeout, zero=True)
    most = 1 if policy == "one" else most
    batch_times = full_times(times, most)
    capacity = replicas * most / batch_times[most]
    if rate >= capacity:
        return Served(rate, capacity, 1.0, float(most), ())
    patience = math.inf if policy == "fixed" else timeout if policy == "timeout" else 0.0
    arrivals = poisson(rate, n, burst, seed)
    alone = burst == 1 or most == 1  # who comes together is served together
    if alone and not patience and not split_lines and _closest(arrivals, replicas) > batch_times[1]:
        return _at_once(rate, capacity, batch_times[1], replicas, arrivals)
    lines = _deal(arrivals, replicas, seed) if split_lines else [arrivals]
    servers = 1 if split_lines else replicas
    latencies: list[float] = []
    work, batches, served, end = 0.0, 0, 0, 0.0
    for line in lines:
        worked, count, last, taken = _serve(line, batch_times, most, patience, servers)
        latencies += taken[int(START * len(taken)) :]
        work, batches, served, end = work + worked, batches + count, served + len(taken), max(end, last)
    if not latencies:
        raise BadValue(f"{n} requests never fill a batch of {most} in each of {replicas} queues; give a larger n or a smaller batch", "n")
    return Served(rate, capacity, min(1.0, work / (replicas * end)), served / batches, tuple(sorted(latencies)))


def _at_once(rate: float, capacity: float, alone: float, replicas: int, arrivals: Sequence[float]) -> Served:
    """Nobody finds all servers busy, so each is served alone when it comes; no need to go through them one by one."""
    n = len(arrivals)
    busy = min(1.0, n * alone / (replicas * (arrivals[-1] + alone)))
    return Served(rate, capacity, busy, 1.0, (alone,) * (n - int(START * n)))


def full_times(times: Mapping[int, float], most: int) -> tuple[float, ...]:
    """T(b) for b = 0 … most: straight lines between the sizes that are given. T(0) is 0."""
    return _full_times(tuple(sorted(times.items())), most)


@lru_cache(maxsize=256)
def _full_times(times: tuple[tuple[int, float], ...], most: int) -> tuple[float, ...]:
    sizes = [size for size, _ in times]
    if not sizes or sizes[0] != 1 or sizes[-1] < most:
        raise BadValue(f"times are for batches {sizes}; give T(1), T({most}) and, if you like, sizes between", "times")
    seconds = tuple(float(check_positive(f"T({size})", value)) for size, value in times)
    return (0.0, *(float(interpolate(float(b), tuple(map(float, sizes)), seconds)) for b in range(1, most + 1)))


@lru_cache(maxsize=128)
def poisson(rate: float, n: int, burst: int = 1, seed: int = 0) -> tuple[float, ...]:
    """`n` arrival times at `rate`; `burst` requests come at each moment, and the moments are Poisson."""
    step = burst / rate
    moments = [moment * step for moment in _moments(-(-n // burst), seed)]
    return tuple(moments) if burst == 1 else tuple([moment for moment in moments for _ in range(burst)][:n])


@lru_cache(maxsize=64)
def _moments(n: int, seed: int) -> tuple[float, ...]:
    """Arrivals at a rate of one."""
    return tuple(accumulate(exponential(split(seed, 0), n)))


def _closest(arrivals: Sequence[float], servers: int) -> float:
    """The shortest time in which more requests come than there are servers."""
    return min((later - earlier for earlier, later in zip(arrivals, arrivals[servers:], strict=False)), default=math.inf)


def _serve(
    arrivals: Sequence[float], times: Sequence[float], most: int, patience: float, servers: int
) -> tuple[float, int, float, list[float]]:
    """Seconds of work, batches, the last departure, and each request's time, in order."""
    n, i, batches, work = len(arrivals), 0, 0, 0.0
    free = [0.0] * servers
    latencies: list[float] = []
    leave = last = 0.0
    while i < n:
        ready = arrivals[i] + patience
        if i + most <= n:
            ready = min(ready, arrivals[i + most - 1])
        elif patience == math.inf:
            break
        now = max(free[0], ready)
        end = bisect_right(arrivals, now, i, min(n, i + most))
        leave = now + times[end - i]
        latencies += [leave - arrived for arrived in arrivals[i:end]]
        heapreplace(free, leave)
        work, batches, last, i = work + times[end - i], batches + 1, max(last, leave), end
    return work, batches, last, latencies


def _deal(arrivals: Sequence[float], lines: int, seed: int) -> list[list[float]]:
    dealt: list[list[float]] = [[] for _ in range(lines)]
    for arrived, draw in zip(arrivals, uniform(split(seed, 1), len(arrivals)), strict=True):
        dealt[int(draw * lines)].append(arrived)
    return dealt


def _check(most: int, policy: str, replicas: int, burst: int, n: int) -> None:
    if policy not in POLICIES:
        raise BadValue(f"no policy {policy!r}; choose from {', '.join(POLICIES)}", "policy")
    for name, value in (("most", most), ("replicas", replicas), ("burst", burst), ("n", n)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadValue(f"{name} is {value!r}; give a whole number of at least 1", name)
