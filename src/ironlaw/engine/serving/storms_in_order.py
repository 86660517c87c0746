"""A storm whose line is served in order: when an attempt will be answered is known when it is made, so nothing else has to be followed.

The same run as event by event, to the last answer, in a fraction of the time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush


@dataclass(frozen=True)
class Clients:
    """What those who ask do: seconds until they give up, retries, their budget (None: no limit) and what it may save up, backoff."""

    timeout: float
    retries: int
    budget: float | None
    saved: float
    backoff: float


@dataclass
class Trace:
    """When requests were answered in time, when attempts went out, and how long each took that was answered."""

    requests: int = 0
    good: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)


class _Line:
    """The server's line and the clients' patience. `late`: (given up at, trial); `again`: attempts to come."""

    def __init__(self, clients: Clients, services: Iterator[float], until: float, limit: int | None) -> None:
        self.clients, self.services, self.until, self.limit = clients, services, until, limit
        self.trace = Trace()
        self.tokens = math.inf if clients.budget is None else 0.0
        self.free = 0.0  # when the server is free
        self.begins: deque[float] = deque()  # when those in the line will be begun; kept where the line has a limit
        self.late: deque[tuple[float, int]] = deque()
        self.again: list[tuple[float, int, int]] = []
        self.tries = 0

    def full(self, now: float) -> bool:
        while self.begins and self.begins[0] <= now:
            self.begins.popleft()
        return self.limit is not None and len(self.begins) >= self.limit

    def attempt(self, now: float, trial: int) -> None:
        trace, until, start = self.trace, self.until, self.free
        trace.sent.append(now)
        if self.limit is not None and self.full(now):
            self.fail(now, trial)
            return
        if start < now:
            start = now
        elif self.limit is not None:
            self.begins.append(start)
        given_up = now + self.clients.timeout
        if start > until:  # not begun before the end, so given up before it or after it
            self.late.append((given_up, trial))
            return
        end = self.free = start + next(self.services)
        if end <= until:
            trace.waits.append(end - now)
        if end - now > self.clients.timeout:
            self.late.append((given_up, trial))
        elif end <= until:
            trace.good.append(end)

    def fail(self, now: float, trial: int) -> None:
        """The next attempt, where retries and budget allow it."""
        if trial >= self.clients.retries or self.tokens < 1:
            return
        self.tokens -= 1
        if not self.clients.backoff:
            self.attempt(now, trial + 1)
            return
        self.tries += 1
        heappush(self.again, (now + self.clients.backoff * 2**trial, self.tries, trial + 1))


def in_order(
    clients: Clients, gaps: Iterator[float], services: Iterator[float], rate: Callable[[float], float], until: float, limit: int | None
) -> Trace:
    """`gaps`: exponential of mean 1, stretched by the rate at the moment. `limit`: attempts that may wait; others are turned away."""
    line = _Line(clients, services, until, limit)
    late, again, budget = line.late, line.again, clients.budget
    arrival = next(gaps) / rate(0.0)
    while True:
        now = arrival
        if late and late[0][0] < now:
            now = late[0][0]
        if again and again[0][0] <= now:
            now = again[0][0]
            if now > until:
                return line.trace
            line.attempt(now, heappop(again)[2])
        elif now > until:
            return line.trace
        elif now < arrival:
            line.fail(now, late.popleft()[1])
        else:
            line.trace.requests += 1
            if budget is not None:
                line.tokens = min(line.tokens + budget, clients.saved)
            line.attempt(now, 0)
            arrival = now + next(gaps) / rate(now)
