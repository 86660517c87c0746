"""A line request by request: who arrives, starts and leaves when. Any number will do for a time: floats, integers, fractions.

Between the staircase of arrivals and that of departures lies one area. Cut into columns it is the number in the system at each
moment; cut into rows, each request's own time. So L·T = λT·W, whatever the arrivals, the services, the servers and the order.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapreplace
from itertools import pairwise
from typing import Any

from ironlaw.engine.streams import uniform
from ironlaw.errors import BadValue

Time = Any  # a float, an int or a Fraction; one kind in one line
ORDERS = ("fifo", "lifo", "random", "shortest")


@dataclass(frozen=True)
class Run:
    """Requests in the order of their arrival: when each arrived, started and left."""

    arrive: tuple[Time, ...]
    start: tuple[Time, ...]
    leave: tuple[Time, ...]

    @cached_property
    def times(self) -> tuple[Time, ...]:
        """Each request's own time in the system."""
        return tuple(leave - arrive for arrive, leave in zip(self.arrive, self.leave, strict=True))

    @cached_property
    def steps(self) -> tuple[tuple[Time, int], ...]:
        """(moment, number in the system from then on), wherever it changes."""
        moments = sorted([(t, -1) for t in self.leave] + [(t, 1) for t in self.arrive])
        inside, steps = 0, []
        for moment, change in moments:
            inside += change
            steps.append((moment, inside))
        return tuple(steps)

    @property
    def span(self) -> Time:
        """Seconds from the first arrival to the last departure."""
        return max(self.leave) - self.arrive[0]

    @cached_property
    def area_by_time(self) -> Time:
        """The area between the staircases, cut into columns: the number in the system × how long it was so."""
        return sum(inside * (after - moment) for (moment, inside), (after, _) in zip(self.steps, self.steps[1:], strict=False))

    @cached_property
    def area_by_request(self) -> Time:
        """The same area, cut into rows: every request's own time."""
        return sum(self.times)

    @property
    def rate(self) -> Time:
        """λ: requests per second from empty to empty."""
        return len(self.arrive) / self.span

    @property
    def in_flight(self) -> Time:
        """L: how many are in the system on average from empty to empty."""
        return self.area_by_time / self.span

    @property
    def mean(self) -> Time:
        """W: a request's mean time in the system."""
        return self.area_by_request / len(self.times)

    def quantile(self, p: float) -> Time:
        """The shortest time that at least a share `p` of the requests stay within."""
        return ranked(self._sorted_times, p)

    @cached_property
    def _sorted_times(self) -> tuple[Time, ...]:
        return tuple(sorted(self.times))

    def within(self, begin: Time, end: Time) -> Window:
        """What a window that opens and closes at any moment sees, and what it cuts off."""
        pairs = list(zip(self.arrive, self.leave, strict=True))
        area = sum(max(min(leave, end) - max(arrive, begin), 0 * end) for arrive, leave in pairs)
        inside = [(arrive, leave) for arrive, leave in pairs if begin <= arrive < end]
        before = sum(max(min(leave, end) - begin, 0 * end) for arrive, leave in pairs if arrive < begin)
        after = sum(leave - max(end, arrive) for arrive, leave in inside if leave > end)
        return Window(end - begin, len(inside), area, sum((leave - arrive for arrive, leave in inside), start=0 * end), before, after)


@dataclass(frozen=True)
class Window:
    """A cut through a run. `by_request` is the whole time of those who arrived in it; area − by_request = before − after."""

    span: Time
    arrivals: int
    area: Time  # number in the system × time, inside the window
    by_request: Time
    before: Time  # spent inside the window by those who came before it opened
    after: Time  # spent after it closed by those who came while it was open

    @property
    def edge(self) -> Time:
        return self.before - self.after


def simulate(arrivals: Sequence[Time], services: Sequence[Time], servers: int = 1, order: str = "fifo", seed: int = 0) -> Run:
    """Requests through `servers` that share one line; a request that has started is not interrupted."""
    _check(arrivals, services, servers, order)
    n, free = len(arrivals), [arrivals[0]] * servers
    start, leave = [arrivals[0]] * n, [arrivals[0]] * n
    draws = uniform(seed, n) if order == "random" else ()
    waiting: list[int] = []
    i, now = 0, arrivals[0]
    for turn in range(n):
        now = max(now, free[0]) if waiting else max(now, free[0], arrivals[i])
        while i < n and arrivals[i] <= now:
            if order == "shortest":
                insort(waiting, i, key=lambda k: (-services[k], -k))
            else:
                waiting.append(i)
            i += 1
        place = 0 if order == "fifo" else int(draws[turn] * len(waiting)) if draws else -1
        taken = waiting.pop(place)
        start[taken], leave[taken] = now, now + services[taken]
        heapreplace(free, leave[taken])
    return Run(tuple(arrivals), tuple(start), tuple(leave))


def ranked(values: Sequence[Time], p: float) -> Time:
    """The smallest of sorted values that at least a share `p` of them do not exceed."""
    if not 0 < p < 1:
        raise BadValue(f"the quantile is {p!r}; give a share between 0 and 1, such as 0.99", "p")
    return values[max(0, math.ceil(p * len(values) - 1e-9) - 1)]


def _check(arrivals: Sequence[Time], services: Sequence[Time], servers: int, order: str) -> None:
    if order not in ORDERS:
        raise BadValue(f"no order {order!r}; choose from {', '.join(ORDERS)}", "order")
    if isinstance(servers, bool) or not isinstance(servers, int) or servers < 1:
        raise BadValue(f"servers is {servers!r}; give a whole number of at least 1", "servers")
    if not arrivals or len(arrivals) != len(services):
        raise BadValue(
            f"{len(arrivals)} arrivals and {len(services)} services; give one service to each arrival, and at least one", "services"
        )
    if any(not before <= after for before, after in pairwise(arrivals)):
        raise BadValue("arrivals go back in time; sort them", "arrivals")
    if not all(0 <= service < math.inf for service in services):
        raise BadValue("a service time is negative or infinite; give finite times of at least 0", "services")
