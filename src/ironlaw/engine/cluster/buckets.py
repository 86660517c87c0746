"""Gradients summed up in buckets while the backward pass still runs: what of it shows, and which bucket is best.

The pass makes gradients evenly, from the last layer to the first. A bucket goes out when it is full and the one before it is through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

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


def exposed(gradients: float, bucket: float, backward: float, cost: Cost) -> float:
    """Seconds of communication after the backward pass."""
    return sent(gradients, bucket, backward, cost)[-1].end - backward


def best_bucket(gradients: float, backward: float, cost: Cost, sizes: Iterable[float]) -> float:
    """Of these sizes the one that shows least; of equals the largest."""
    return min(sorted(sizes, reverse=True), key=lambda size: exposed(gradients, size, backward, cost))
