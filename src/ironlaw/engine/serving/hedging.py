"""Hedging: a request that is late gets a copy on another shard, and the first answer counts.

A copy is load. Where all are late all are sent twice, and a fleet at ρ then has to do 2ρ: from ρ = 1/2 on it can stay late forever.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.cancelling import SAVED, first_answers
from ironlaw.engine.serving.latencies import Latencies
from ironlaw.engine.serving.line import ranked
from ironlaw.engine.streams import exponential, split, uniform
from ironlaw.errors import BadValue

SAFE, STUCK = "safe", "stuck"
EARLY = 0.2  # of the requests come before the pause


def hedge_fate(rho: float, budget: float | None = None, cancelled: bool = False) -> str:
    """ "stuck" where a long enough pause can leave every request late forever, else "safe".

    `budget`: copies per request, at most; None means no limit: one each. `cancelled`: the copy that loses stops at once. With exponential
    service it then costs nothing: two that work on one request end it twice as fast.
    """
    check_positive("utilisation", rho)
    most = 0.0 if cancelled else 1.0 if budget is None else min(1.0, check_positive("budget", budget, zero=True))
    return SAFE if rho * (1.0 + most) < 1 else STUCK


def largest_budget(rho: float) -> float:
    """Copies per request below which a fleet at this utilisation always comes back; at most 1."""
    return max(0.0, min(1.0, 1.0 / float(check_positive("utilisation", rho)) - 1.0))


@dataclass(frozen=True)
class Window:
    """A stretch of a run: when it ends, work sent over work that can be done, the share of late requests and their median, in seconds."""

    until: float
    load: float
    late: float
    median: float


@dataclass(frozen=True)
class HedgedRun(Latencies):
    """Requests in the order in which they came: arrival, seconds to the first answer; and when each copy was sent."""

    arrive: Sequence[float]
    seconds: Sequence[float]
    copies: Sequence[float]
    capacity: float  # requests per second that all shards together can serve

    @property
    def extra(self) -> float:
        """Copies per request."""
        return len(self.copies) / self.n

    def last_median(self, share: float = 0.1) -> float:
        """The median of the last requests: what those who come now wait."""
        return float(ranked(sorted(self.seconds[-max(1, math.ceil(self.n * share)) :]), 0.5))

    def stays_late(self, ordinary: HedgedRun) -> bool:
        """Whether it ends with half of the requests slower than 99% of those on an ordinary day."""
        return self.last_median() > ordinary.quantile(0.99)

    def windows(self, late: float, count: int = 40) -> list[Window]:
        """The run cut into stretches of equal length; a request that takes longer than `late` seconds counts as late."""
        end, stretches, i = self.arrive[-1], [], 0
        for w in range(count):
            until = end * (w + 1) / count
            j = self.n if w == count - 1 else bisect_left(self.arrive, until, i)
            sent = j - i + bisect_left(self.copies, until) - bisect_left(self.copies, end * w / count)
            part = sorted(self.seconds[i:j])
            slow = len(part) - bisect_left(part, math.nextafter(late, math.inf))
            stretches.append(
                Window(until, sent / (self.capacity * end / count), slow / max(1, len(part)), ranked(part, 0.5) if part else 0.0)
            )
            i = j
        return stretches


def hedging_run(
    rho: float, delay: float | None = None, budget: float | None = None, cancelled: bool = False, pause: float = 0.0,
    service: float = 0.01, shards: int = 50, n: int = 20_000, seed: int = 0, works: Sequence[float] | None = None,
) -> HedgedRun:  # fmt: skip
    """n requests to shards drawn at random, at utilisation rho without copies; after `delay` seconds a late one gets a copy elsewhere.

    `budget`: copies per request; unused ones are kept, up to a hundred. `pause`: after a fifth of the requests all shards stand still for
    so long. `works`: 2n service times (requests, then copies) in place of exponential ones of mean `service`.
    """
    _check(rho, delay, budget, pause, shards, n)
    rate = rho * shards / check_positive("service", service)
    arrive = poisson(rate, n, seed=seed)
    works = exponential(split(seed, 2), 2 * n, 1.0 / service) if works is None else works
    if len(works) != 2 * n:
        raise BadValue(f"{len(works)} service times for {n} requests; give {2 * n}: those of the requests, then of their copies", "works")
    first, other = _shards(n, shards, seed)
    stops = arrive[int(EARLY * n)] if pause else math.inf
    still = Pause(stops, pause)
    if delay is not None and cancelled:
        done, copies = first_answers(arrive, works, first, other, shards, delay, budget, still)
    else:
        done, copies = _first_answers(arrive, works, first, other, shards, delay, budget, still)
    return HedgedRun(arrive, [end - begin for end, begin in zip(done, arrive, strict=True)], copies, shards / service)


@lru_cache(maxsize=32)
def _shards(n: int, shards: int, seed: int) -> tuple[list[int], list[int]]:
    """Where each request goes, and where its copy would go."""
    draws = uniform(split(seed, 3), 2 * n)
    first = [int(u * shards) for u in draws[:n]]
    return first, [(home + 1 + int(u * (shards - 1))) % shards for home, u in zip(first, draws[n:], strict=True)]


@dataclass(frozen=True, slots=True)
class Pause:
    """All shards stand still from `begins` on for `length` seconds. Their own clock stands still too: it counts working time."""

    begins: float
    length: float

    def working(self, t: float) -> float:
        return t if t <= self.begins else max(self.begins, t - self.length)

    def wall(self, t: float) -> float:
        return t if t <= self.begins else t + self.length


def _first_answers(
    arrive: Sequence[float], works: Sequence[float], first: Sequence[int], other: Sequence[int], shards: int, delay: float | None,
    budget: float | None, pause: Pause,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """When each request is answered, and when copies are sent; each shard serves in order, so an end is known at once."""
    n, free = len(arrive), [0.0] * shards
    begins, length = pause.begins, pause.length  # in the loop by hand: most of a run's time is spent here
    wait = math.inf if delay is None else delay
    done: list[float] = []
    late: deque[int] = deque()
    copies: list[float] = []
    left, each = (0.0, budget) if budget is not None else (math.inf, 0.0)

    def hedge(until: float) -> None:
        nonlocal left
        while late and arrive[late[0]] + wait <= until:
            i = late.popleft()
            if left < 1.0:
                continue
            left -= 1.0
            now = arrive[i] + wait
            free[other[i]] = max(free[other[i]], pause.working(now)) + works[n + i]
            done[i] = min(done[i], pause.wall(free[other[i]]))
            copies.append(now)

    for i, now in enumerate(arrive):
        if late and arrive[late[0]] + wait <= now:
            hedge(now)
        if each:
            left = min(left + each, SAVED)
        start, ready = free[first[i]], now if now <= begins else max(begins, now - length)
        end = (ready if ready > start else start) + works[i]
        free[first[i]] = end
        if end > begins:
            end += length
        done.append(end)
        if end > now + wait:
            late.append(i)
    hedge(math.inf)
    return done, copies


def _check(rho: float, delay: float | None, budget: float | None, pause: float, shards: int, n: int) -> None:
    if not 0 < rho < 1:
        raise BadValue(
            f"the fleet's utilisation is {rho!r}; give a share between 0 and 1, because at 1 the queue grows even without copies"
        )
    if delay is not None:
        check_positive("the delay before a copy", delay, zero=True)
    if budget is not None:
        check_positive("budget", budget, zero=True)
    check_positive("pause", pause, zero=True)
    if shards < 2 or n < 10:
        raise BadValue(f"{n} requests to {shards} shards; a copy needs another shard and a run at least 10 requests")
