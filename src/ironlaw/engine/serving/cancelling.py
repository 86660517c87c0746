"""Hedging where the copy that loses is called back: taken out of its line, or stopped in the middle of its work."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

SAVED = 100  # copies that an unused budget holds back for later, at most


class Clock(Protocol):
    def working(self, t: float) -> float: ...
    def wall(self, t: float) -> float: ...


class Fleet:
    """Shards with a queue each, in working time. A request is answered once, and every other shard that has it then drops it."""

    def __init__(self, shards: int, n: int) -> None:
        self.lines: list[deque[tuple[int, float]]] = [deque() for _ in range(shards)]
        self.at_work: list[int] = [-1] * shards  # the request that a shard works on
        self.turns = [0] * shards  # pieces of work that a shard has begun: an end of one that was stopped no longer counts
        self.ends: list[tuple[float, int, int]] = []
        self.done = [math.inf] * n

    def send(self, request: int, shard: int, work: float, now: float) -> None:
        self.lines[shard].append((request, work))
        if self.at_work[shard] < 0:
            self._begin(shard, now)

    def _begin(self, shard: int, now: float) -> None:
        self.at_work[shard] = -1
        self.turns[shard] += 1
        line = self.lines[shard]
        while line:
            request, work = line.popleft()
            if self.done[request] == math.inf:
                self.at_work[shard] = request
                heappush(self.ends, (now + work, shard, self.turns[shard]))
                return

    def advance(self, until: float, elsewhere: Sequence[tuple[int, int]]) -> None:
        """Everything that ends before `until`; elsewhere: the two shards that may hold a request."""
        while self.ends and self.ends[0][0] <= until:
            now, shard, turn = heappop(self.ends)
            if turn != self.turns[shard]:
                continue
            request = self.at_work[shard]
            self.done[request] = now
            self._begin(shard, now)
            for twin in elsewhere[request]:
                if twin != shard and self.at_work[twin] == request:
                    self._begin(twin, now)


def first_answers(
    arrive: Sequence[float], works: Sequence[float], first: Sequence[int], other: Sequence[int], shards: int, delay: float,
    budget: float | None, pause: Clock,
) -> tuple[list[float], list[float]]:  # fmt: skip
    """When each request is answered, and when copies are sent."""
    n, fleet = len(arrive), Fleet(shards, len(arrive))
    both = list(zip(first, other, strict=True))
    copies: list[float] = []
    left, each = (0.0, budget) if budget is not None else (math.inf, 0.0)
    asked = 0  # the oldest request that nobody has looked at again

    def look_again(until: float) -> None:
        nonlocal left, asked
        while asked < n and arrive[asked] + delay <= until:
            i, now = asked, arrive[asked] + delay
            asked += 1
            if fleet.done[i] < math.inf:
                continue
            fleet.advance(pause.working(now), both)
            if fleet.done[i] == math.inf and left >= 1.0:
                left -= 1.0
                fleet.send(i, other[i], works[n + i], pause.working(now))
                copies.append(now)

    for i, now in enumerate(arrive):
        look_again(now)
        left = min(left + each, SAVED) if each else left
        fleet.advance(pause.working(now), both)
        fleet.send(i, first[i], works[i], pause.working(now))
    look_again(math.inf)
    fleet.advance(math.inf, both)
    return [pause.wall(end) for end in fleet.done], copies
