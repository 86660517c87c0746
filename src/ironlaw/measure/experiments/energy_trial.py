"""Joules of a product on this machine: one row at a time and 64 together, by the processor's own counters.

Where no counter can be read the times are there all the same, with the reason why there are no joules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from ironlaw.measure import rapl
from ironlaw.measure.clock import Timing, quantile
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.progress_lines import Cancelled
from ironlaw.measure.rows import Draft, case_row, figure_row, rounded

WIDTH = 2048
BATCHES = (1, 64)
WINDOWS = 5  # each as long as the bench samples a case
TIME, JOULES, POWER, IDLE = "time", "joules", "power", "idle"
SEED = 15


def product() -> Callable[[int], Any]:
    """A call that sends as many rows as it is told through one matrix."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    weights = draw.standard_normal((WIDTH, WIDTH), dtype=np.float32)
    inputs = {size: draw.standard_normal((size, WIDTH), dtype=np.float32) for size in BATCHES}
    return lambda size: inputs[size] @ weights


def rows(
    bench: Bench,
    place: Path = rapl.POWERCAP,
    make: Callable[[], Callable[[int], Any]] = product,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Draft]:
    """Seconds of a batch; where the counters can be read, joules of a row, and watts while busy and while idle."""
    counters, work = rapl.counters(place), make()
    cases = [("nothing", 0)] if counters.zones else []
    for batch in bench.each([*cases, *((f"a batch of {batch}", batch) for batch in BATCHES)]):
        call = partial(work, batch) if batch else partial(sleep, bench.seconds)
        windows = [window(bench, counters, call) for _ in range(WINDOWS)]
        watts = [joules / seconds for seconds, joules, _ in windows]
        if counters.zones and not any(watts):
            counters = rapl.Counters(why="its counters stand still, as on some virtual machines")
        if batch:
            each = Timing.of([seconds / calls for seconds, _, calls in windows])
            about = {"batch": batch, "zones": [zone.name for zone in counters.zones], "why": counters.why}
            yield case_row(TIME, f"a batch of {batch}", about, each.row())
        if counters.zones and batch:
            yield _figure(JOULES, f"a row in a batch of {batch}", [joules / (batch * calls) for _, joules, calls in windows], "J", batch)
        if counters.zones:
            yield _figure(POWER if batch else IDLE, f"with batches of {batch}" if batch else "at rest", watts, "W", batch)


def window(bench: Bench, counters: rapl.Counters, call: Callable[[], Any]) -> tuple[float, float, int]:
    """(seconds, joules, calls) of one stretch of equal calls."""
    clock = bench.clock
    assert clock is not None
    if bench.stop is not None and bench.stop():
        raise Cancelled("the measurement was stopped; nothing was stored")
    call()
    before, start, calls = counters.read(), clock.now(), 0
    while True:
        call()
        calls += 1
        seconds = clock.now() - start
        if seconds >= bench.seconds:
            return max(seconds, 1e-9), counters.joules(before, counters.read()), calls


def _figure(name: str, label: str, values: Sequence[float], unit: str, batch: int) -> Draft:
    ordered = sorted(values)
    low, high = quantile(ordered, 0.025), quantile(ordered, 0.975)
    return figure_row(name, label, rounded(median(ordered)), rounded(low), rounded(high), unit, len(ordered), batch=batch)
