"""Two ways to test a server that stops now and then: by the users' clock, or politely, after each answer.

The server works on one request at a time, in order, `service` seconds each, and stops during stalls. Users send on a schedule, whatever
the server does (open loop). A closed loop sends the next request when one of its connections is free, and its clock starts only then.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.latencies import Latencies
from ironlaw.errors import BadValue

NEVER = 1 << 62  # requests: more than any test has


@dataclass(frozen=True, slots=True)
class Stalls:
    """The server stops for `length` seconds in every `period`; the first time after `first` seconds."""

    length: float = 0.0
    period: float = 10.0
    first: float = 0.0

    def __post_init__(self) -> None:
        check_positive("a stall's length", self.length, zero=True)
        check_positive("the period of the stalls", self.period)
        check_positive("the time before the first stall", self.first, zero=True)
        if self.length >= self.period:
            raise BadValue(
                f"stalls of {self.length} s in every {self.period} s leave no time to serve; give a period longer than the stall"
            )

    @property
    def share(self) -> float:
        """The share of the time in which the server stalls."""
        return self.length / self.period

    def begins(self, after: float) -> float:
        """When the first stall begins that is not over at this time; inf where there are none."""
        if self.length == 0:
            return math.inf
        return self.first + max(0, math.floor((after - self.first - self.length) / self.period) + 1) * self.period

    def finish(self, start: float, work: float) -> float:
        """When work that may begin at `start` is done: it rests during stalls."""
        stall = self.begins(start)
        while start + work > stall:
            work -= max(0.0, stall - start)
            start, stall = max(start, stall + self.length), stall + self.period
        return start + work


@dataclass(frozen=True)
class Test(Latencies):
    """What a tester saw: when each request was sent, and how long its answer took, in seconds."""

    __test__ = False  # no test of pytest's

    sent: Sequence[float]
    seconds: Sequence[float]

    @property
    def mean(self) -> float:
        return math.fsum(self.seconds) / self.n

    def share_above(self, seconds: float) -> float:
        return 1 - bisect_right(self.ordered, seconds) / self.n


def load(rate: float, service: float, stalls: Stalls) -> float:
    """Work that arrives over work that can be done between stalls; from 1 on the line of users never ends."""
    return float(check_positive("rate", rate) * check_positive("service", service) / (1 - stalls.share))


def open_loop(rate: float, service: float, stalls: Stalls | None = None, n: int = 10_000, together: bool = False) -> Test:
    """n requests at times 0, 1/rate, 2/rate, …, each counted from the time it was meant to be sent.

    `together`: a server with room for all, which answers all that waited one service after the stall; Tene's figures are of that one.
    """
    stalls = _stalls(rate, service, stalls, n)
    gap, seconds = 1.0 / rate, list[float]()
    free = 0.0
    while len(seconds) < n:
        i = len(seconds)
        due = i * gap
        if free <= due or together:
            quiet = _untouched(due, gap, service, stalls, n - i) if service <= gap or together else 0
            if quiet:
                seconds += [service] * quiet
                free = (i + quiet - 1) * gap + service
                continue
            free = stalls.finish(due, service)
            seconds.append(free - due)
            continue
        behind = max(0, min(n - i, _until(free, due, gap, service), _before(stalls, free, service)))
        if behind:  # answers follow each other at the pace of the server
            seconds += [free + (j + 1) * service - (i + j) * gap for j in range(behind)]
            free += behind * service
        else:
            free = stalls.finish(free, service)
            seconds.append(free - due)
    return Test([i * gap for i in range(n)], seconds)


def closed_loop(rate: float, service: float, stalls: Stalls | None = None, n: int = 10_000, connections: int = 1) -> Test:
    """The n requests of a tester that waits for a free connection and never sends more than `rate` a second; counted from when it sent."""
    stalls = _stalls(rate, service, stalls, n)
    if connections < 1:
        raise BadValue(f"a tester with {connections} connections sends nothing; give 1 or more")
    gap = 1.0 / rate
    sent: list[float] = []
    seconds: list[float] = []
    ends: deque[float] = deque([0.0] * connections, connections)  # when each connection is free; answers come in order
    at = 0.0
    while len(seconds) < n:
        idle = ends[-1] <= at and service <= gap
        quiet = _untouched(at, gap, service, stalls, n - len(seconds)) if idle else 0
        if quiet:
            sent += [at + j * gap for j in range(quiet)]
            seconds += [service] * quiet
            ends.extend([end + service for end in sent[-min(quiet, connections) :]])
        else:
            sent.append(at)
            ends.append(stalls.finish(max(at, ends[-1]), service))
            seconds.append(ends[-1] - at)
        at = max(sent[-1] + gap, ends[0])
    return Test(sent, seconds)


def back_fill(seconds: Sequence[float], interval: float) -> list[float]:
    """HdrHistogram's correction for omission: beside each answer longer than the interval, those that were not asked for meanwhile.

    It guesses that one connection sent on schedule: a wait of v stands for v − interval, v − 2 · interval, … as well.
    """
    check_positive("the interval between requests", interval)
    filled = list(seconds)
    for value in seconds:
        if value > interval:
            filled += [value - j * interval for j in range(1, math.floor(value / interval + 1e-9))]
    return filled


def _stalls(rate: float, service: float, stalls: Stalls | None, n: int) -> Stalls:
    check_positive("rate", rate)
    check_positive("service", service)
    if n < 1:
        raise BadValue(f"a test of {n} requests; count at least 1")
    return stalls or Stalls()


def _untouched(due: float, gap: float, service: float, stalls: Stalls, most: int) -> int:
    """How many requests from `due` on are served at once and are done before the next stall begins."""
    stall = stalls.begins(due)
    if stall == math.inf:
        return most
    return max(0, min(most, math.floor((stall - due - service) / gap) + 1))


def _before(stalls: Stalls, free: float, service: float) -> int:
    """How many pieces of work are done before the next stall."""
    stall = stalls.begins(free)
    return NEVER if stall == math.inf else math.floor((stall - free) / service)


def _until(free: float, due: float, gap: float, service: float) -> int:
    """How many more requests find the server still at work on the one before."""
    if service >= gap:
        return NEVER
    return math.ceil((free - due) / (gap - service))
