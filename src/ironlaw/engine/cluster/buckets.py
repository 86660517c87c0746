"""Gradients summed up in buckets while the backward pass still runs: what of it shows, and which bucket is best.

The pass makes gradients evenly, from the last layer to the first. A bucket goes out when it is full and the one before it is through.
All but the last are alike, so that when the i-th is through has a closed form: the queue never was empty, or it was and this one came last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ironlaw.engine.arrays import ratio
from ironlaw.engine.device.types import check_positive

Cost = Callable[[float], float]  # bytes of one bucket -> seconds of its all-reduce
MOST = 100_000  # buckets of one pass


@dataclass(frozen=True, slots=True)
class Bucket:
    """`ready`: its last gradient is there; `start` and `end` of its all-reduce. Bytes, and seconds from the begin of the pass."""

    size: float
    ready: float
    start: float
    end: float


def sent(gradients: float, bucket: float, backward: float, cost: Cost) -> tuple[Bucket, ...]:
    """Every bucket of one backward pass, in order; the last holds what is left."""
    check_positive("gradients", gradients)
    check_positive("backward pass", backward, zero=True)
    full = max(float(check_positive("bucket", bucket)), gradients / MOST)
    marks = [min(i * full, gradients) for i in range(math.ceil(gradients / full - 1e-9) + 1)]
    queue: list[Bucket] = []
    free = 0.0
    for before, after in pairwise(marks):
        ready = backward * after / gradients
        start = max(ready, free)
        free = start + cost(after - before)
        queue.append(Bucket(after - before, ready, start, free))
    return tuple(queue)


@dataclass(frozen=True)
class Queue:
    """The buckets of one pass, counted from 1, without going through them. `as_made`: the first to go out is the first that is full;
    else they go in the order of the layers, and the first waits for the end of the pass."""

    gradients: float
    bucket: float
    backward: float
    cost: Cost
    as_made: bool = True

    @property
    def full(self) -> float:
        return min(self.bucket, self.gradients)

    @property
    def count(self) -> int:
        return math.ceil(self.gradients / self.full - 1e-9)

    @cached_property
    def each(self) -> float:
        """Seconds of a full one's all-reduce."""
        return self.cost(self.full)

    @cached_property
    def last(self) -> float:
        """The time of the last bucket, which holds what is left."""
        return self.cost(self.gradients - (self.count - 1) * self.full)

    @property
    def seconds(self) -> float:
        """Time on the wires, exposed or not."""
        return (self.count - 1) * self.each + self.last

    def ready(self, i: int) -> float:
        return self.backward * min(1.0, i * self.full / self.gradients) if self.as_made else self.backward

    def end(self, i: int) -> float:
        """When the i-th is through; 0 before the first."""
        if i == self.count > 1:
            return max(self.ready(i), self.end(i - 1)) + self.last
        spent = self.last if self.count == 1 else self.each
        return max(self.ready(1) + i * spent, self.ready(i) + spent) if i else 0.0

    def start(self, i: int) -> float:
        return max(self.ready(i), self.end(i - 1))

    @property
    def exposed(self) -> float:
        """Seconds of communication after the backward pass."""
        return self.end(self.count) - self.backward

    @property
    def waiting(self) -> float:
        """Bytes that are made and not yet summed up, at most: when the first is full, or at the end of the pass."""
        if not self.as_made:
            return self.gradients
        apart = self.backward * self.full / self.gradients
        busy, idle = ratio(self.backward - self.ready(1), self.each), ratio(self.backward - self.each, apart)
        through = float(min(self.count - 1.0, max(0.0, min(busy, idle))))
        return max(self.full, self.gradients - self.full * math.floor(through + 1e-9))


def best_bucket(gradients: float, backward: float, cost: Cost, sizes: Iterable[float]) -> float:
    """The size that leaves the least time exposed; of equals, the largest."""
    return min(sorted(sizes, reverse=True), key=lambda size: Queue(gradients, size, backward, cost).exposed)
