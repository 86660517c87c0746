"""Time a call honestly: warm up, batch what is short, wait for the device, keep every sample, give the median and quantiles.

    t = timed(lambda: x + y, seconds=0.1)        t.median, t.low (10%), t.high (90%), t.best, t.count

A sample is the mean of `batch` calls queued back to back. The batch is chosen so that a sample is RESOLUTION times longer than
the clock's own step (reading it included), so the clock adds under half a percent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from math import ceil
from statistics import median
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.measure.progress_lines import Cancelled, Stop
from ironlaw.measure.rows import rounded

RESOLUTION = 200  # a sample lasts so many steps of the clock
LARGEST = 1 << 20  # calls in one sample, at the most


class Clock:
    """The processor's clock, and nothing to wait for: on a CPU a call returns when its work is done."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.perf_counter()

    def sync(self) -> None:
        """Wait until all that was queued is done."""


class DeviceClock(Clock):
    """The processor's clock, which waits for a device's queue to run dry."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self.sync = wait  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True)
class Timing:
    """What one call takes, in seconds. `low` and `high`: the first and last tenth of the samples lie beyond."""

    median: float
    low: float
    high: float
    best: float
    count: int  # samples
    batch: int = 1  # calls in a sample

    @property
    def spread(self) -> float:
        """(high − low) / median: 0 on a silent machine."""
        return (self.high - self.low) / self.median if self.median > 0 else 0.0

    @classmethod
    def of(cls, samples: list[float], batch: int = 1) -> Timing:
        ordered = sorted(samples)
        return cls(median(ordered), quantile(ordered, 0.1), quantile(ordered, 0.9), ordered[0], len(ordered), batch)

    def row(self) -> dict[str, Any]:
        """The timing as an evidence row holds it: the median in `wall_s`, the quantiles beside it."""
        times = {"wall_s": self.median, "low_s": self.low, "high_s": self.high, "best_s": self.best}
        return {name: rounded(value) for name, value in times.items()} | {"samples": self.count}


def quantile(ordered: list[float], share: float) -> float:
    """The value below which `share` of the sorted samples lie, between neighbours in a straight line."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def step(clock: Clock) -> float:
    """The smallest time between two readings that differ: the clock's resolution or the cost of reading it, whichever is larger."""
    steps = []
    for _ in range(5):
        start = now = clock.now()
        for _ in range(1000):
            now = clock.now()
            if now != start:
                break
        steps.append(now - start)
    return median(steps)


def timed(
    call: Callable[[], Any],
    clock: Clock | None = None,
    *,
    seconds: float = 0.1,
    least: int = 7,
    warmup: int = 3,
    batch: int | None = None,
    stop: Stop | None = None,
) -> Timing:
    """Time `call` until `seconds` are spent and `least` samples are there. `stop` is called before each sample."""
    if least < 1 or warmup < 0 or seconds < 0 or (batch is not None and batch < 1):
        raise BadValue(f"timed with least={least}, warmup={warmup}, seconds={seconds}, batch={batch}; give at least 1, 0, 0 and 1")
    clock = clock or Clock()
    for _ in range(warmup):
        halt(stop)
        call()
    clock.sync()
    size = batch or _batch(call, clock, stop)
    samples: list[float] = []
    began = clock.now()
    while len(samples) < least or clock.now() - began < seconds:
        halt(stop)
        samples.append(_sample(call, clock, size))
    return Timing.of(samples, size)


def _sample(call: Callable[[], Any], clock: Clock, size: int) -> float:
    clock.sync()
    start = clock.now()
    for _ in repeat(None, size):
        call()
    clock.sync()
    return (clock.now() - start) / size


def _batch(call: Callable[[], Any], clock: Clock, stop: Stop | None) -> int:
    """How many calls make a sample: as few as outlast RESOLUTION steps of the clock."""
    enough = RESOLUTION * step(clock)
    size = 1
    while size < LARGEST:
        halt(stop)
        took = _sample(call, clock, size) * size
        if took >= enough:
            return size
        size = min(LARGEST, max(2 * size, ceil(size * enough / took)) if took > 0 else 8 * size)
    return size


def halt(stop: Stop | None) -> None:
    """End here if the measurement was asked to stop."""
    if stop is not None and stop():
        raise Cancelled("the measurement was stopped; nothing was stored")
