"""A server, its line, and clients who stop waiting and ask again: does it come back after a spike?

The server does not know who has stopped waiting: it works on what nobody wants any more, unless that is called back.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.cancelling import SAVED
from ironlaw.engine.serving.storms_in_order import Clients, in_order
from ironlaw.engine.streams import exponential, split
from ironlaw.errors import BadValue

ORDERS = ("fifo", "lifo")
RECENT = 50  # answers that a breaker looks back on
REST = 1.0  # seconds that it stays open
ARRIVAL, ATTEMPT, TIMEOUT, DONE = range(4)


@dataclass(frozen=True)
class Storm:
    """Loads are shares of what the server can do. `budget`: retries per request, at most; unused ones are kept, up to a hundred.

    `limit`: requests that may wait; further ones are turned away at once. `breaker`: the share of failures among the last fifty from which
    clients send nothing for a second. `called_back`: an attempt that has timed out is taken out of the line.
    """

    capacity: float = 100.0
    load: float = 0.8
    spike: float = 1.5
    begins: float = 20.0
    lasts: float = 10.0
    until: float = 130.0
    timeout: float = 0.5
    retries: int = 3
    budget: float | None = None
    backoff: float = 0.0
    limit: int | None = None
    order: str = "fifo"
    breaker: float | None = None
    called_back: bool = False
    seed: int = 0

    def rate(self, t: float) -> float:
        return self.capacity * (self.spike if self.begins <= t < self.begins + self.lasts else self.load)


@dataclass(frozen=True)
class Outcome:
    """`good`: when requests were answered in time; `sent`: when attempts went out; `waits`: from attempt to answer, late ones too."""

    storm: Storm
    requests: int
    good: tuple[float, ...]
    sent: tuple[float, ...]
    waits: tuple[float, ...]

    def goodput(self, begin: float, end: float) -> float:
        """Answers in time over what the server could do, in a stretch."""
        return sum(begin <= t < end for t in self.good) / (self.storm.capacity * (end - begin))

    def windows(self, length: float = 10.0) -> list[tuple[float, float, float]]:
        """(end, load sent, goodput) stretch by stretch."""
        count, able = int(self.storm.until / length), self.storm.capacity * length
        sent, good = [0] * count, [0] * count
        for moments, bins in ((self.sent, sent), (self.good, good)):
            for t in moments:
                if t < count * length:
                    bins[int(t / length)] += 1
        return [((k + 1) * length, sent[k] / able, good[k] / able) for k in range(count)]

    def back_after(self, length: float = 10.0, share: float = 0.9) -> float:
        """Seconds from the spike's end to the end of the first stretch whose goodput is at least this share of the load; inf if never."""
        over = self.storm.begins + self.storm.lasts
        ends = [end - over for end, _, good in self.windows(length) if end - length >= over - 1e-9 and good >= share * self.storm.load]
        return min(ends, default=math.inf)


@lru_cache(maxsize=32)
def run_storm(storm: Storm) -> Outcome:
    """With exponential services and Poisson arrivals; event by event, or, where the line is served in order, attempt by attempt."""
    _check(storm)
    if storm.order != "fifo" or storm.breaker is not None or storm.called_back:
        return _Run(storm).outcome()
    clients = Clients(storm.timeout, storm.retries, storm.budget, SAVED, storm.backoff)
    trace = in_order(clients, *_draws(storm), storm.rate, storm.until, storm.limit)
    return Outcome(storm, trace.requests, tuple(trace.good), tuple(trace.sent), tuple(trace.waits))


def _draws(storm: Storm) -> tuple[Iterator[float], Iterator[float]]:
    """Gaps between requests, of mean 1, and times of service; as many as a power of two, so that runs alike draw from one stream."""
    most = storm.capacity * (max(storm.load, storm.spike) * storm.lasts + storm.load * storm.until)
    gaps, served = (2 ** math.ceil(math.log2(1.2 * count + 1000)) for count in (most, storm.capacity * storm.until))
    return iter(exponential(split(storm.seed, 0), gaps)), iter(exponential(split(storm.seed, 1), served, storm.capacity))


def calm(storm: Storm) -> Storm:
    """The same without the spike."""
    return replace(storm, spike=storm.load)


class _Run:
    """One run: events in the order of time; a request is answered at most once."""

    since = 0.0  # when the attempt that is worked on was made

    def __init__(self, storm: Storm) -> None:
        self.storm = storm
        self.gaps, self.services = _draws(storm)
        self.events: list[tuple[float, int, int, int]] = []
        self.line: deque[tuple[int, int, float]] = deque()
        self.busy = False
        self.trial: list[int] = []  # for each request, the attempt that is under way
        self.answered: list[bool] = []
        self.tokens = 0.0 if storm.budget is not None else math.inf
        self.recent: deque[bool] = deque(maxlen=RECENT)
        self.shut_until = 0.0
        self.good: list[float] = []
        self.sent: list[float] = []
        self.waits: list[float] = []

    def outcome(self) -> Outcome:
        storm = self.storm
        heappush(self.events, (self._next(0.0), ARRIVAL, 0, 0))
        while self.events:
            now, kind, request, trial = heappop(self.events)
            if now > storm.until:
                break
            if kind == ARRIVAL:
                self.trial.append(0)
                self.answered.append(False)
                if storm.budget is not None:
                    self.tokens = min(self.tokens + storm.budget, SAVED)
                self._attempt(now, request)
                heappush(self.events, (self._next(now), ARRIVAL, request + 1, 0))
            elif kind == ATTEMPT:
                self._attempt(now, request)
            elif kind == DONE:
                self._done(now, request, trial)
            elif not self.answered[request] and self.trial[request] == trial:
                self._fail(now, request)
        return Outcome(storm, len(self.trial), tuple(self.good), tuple(self.sent), tuple(self.waits))

    def _next(self, now: float) -> float:
        return now + next(self.gaps) / self.storm.rate(now)

    def _attempt(self, now: float, request: int) -> None:
        if now < self.shut_until:
            self._fail(now, request, told=False)
            return
        self.sent.append(now)
        if self.storm.limit is not None and len(self.line) >= self.storm.limit:
            self._fail(now, request)
            return
        self.line.append((request, self.trial[request], now))
        heappush(self.events, (now + self.storm.timeout, TIMEOUT, request, self.trial[request]))
        if not self.busy:
            self._serve(now)

    def _serve(self, now: float) -> None:
        self.busy = False
        while self.line and not self.busy:
            request, trial, since = self.line.popleft() if self.storm.order == "fifo" else self.line.pop()
            if self.storm.called_back and (now >= since + self.storm.timeout or self.answered[request]):
                continue
            self.busy, self.since = True, since
            heappush(self.events, (now + next(self.services), DONE, request, trial))

    def _done(self, now: float, request: int, trial: int) -> None:
        self.waits.append(now - self.since)
        if now - self.since <= self.storm.timeout and not self.answered[request]:
            self.answered[request] = True
            self.good.append(now)
            self.recent.append(True)
        self._serve(now)

    def _fail(self, now: float, request: int, told: bool = True) -> None:
        """An attempt that was late or turned away: the next one, where retries and budget allow it."""
        if told:
            self.recent.append(False)
            threshold = self.storm.breaker
            if threshold is not None and len(self.recent) == RECENT and self.recent.count(False) >= threshold * RECENT:
                self.shut_until = now + REST
                self.recent.clear()
        if self.trial[request] >= self.storm.retries or self.tokens < 1:
            return
        self.tokens -= 1
        self.trial[request] += 1
        heappush(self.events, (now + self.storm.backoff * 2 ** (self.trial[request] - 1), ATTEMPT, request, 0))


def _check(storm: Storm) -> None:
    for name in ("capacity", "load", "spike", "lasts", "until", "timeout"):
        check_positive(name, getattr(storm, name))
    for name in ("begins", "backoff", "budget"):
        if getattr(storm, name) is not None:
            check_positive(name, getattr(storm, name), zero=True)
    if not 0 <= storm.retries <= 10 or storm.capacity * storm.until * max(storm.load, storm.spike) > 1e6:
        raise BadValue(f"{storm.retries} retries of {storm.capacity:g} per second for {storm.until:g} s; give at most 10, or a shorter run")
    if storm.order not in ORDERS:
        raise BadValue(f"no order {storm.order!r}; choose from {', '.join(ORDERS)}", "order")
