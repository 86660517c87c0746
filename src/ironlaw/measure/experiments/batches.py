"""A real server that batches: each request is a row that goes through one product, and what waits goes through together.

First the product at a few sizes, then streams of requests: one by one, and with what waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from ironlaw.engine.serving.batching import poisson
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.line_trial import Sleep, row, serve
from ironlaw.measure.rows import Draft, case_row, rounded

WIDTH = 2048
SIZES = (1, 2, 4, 8, 16, 32)
MOST = SIZES[-1]
SECONDS = 1.2  # of each stream
FEWEST, MANY = 200, 20_000  # requests
SEED = 13
ONE, WAITING = "one", "waiting"
TIME = "time"
# (policy, load of a server that takes one by one, words)
STREAMS = (
    (ONE, 0.7, "one by one"),
    (WAITING, 0.7, "what waits, the same rate"),
    (WAITING, 3.0, "what waits, a rate too high for one by one"),
)


def product() -> Callable[[int], Any]:
    """A batch of so many rows through one matrix."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    weights = draw.standard_normal((WIDTH, WIDTH), dtype=np.float32)
    inputs = {size: draw.standard_normal((size, WIDTH), dtype=np.float32) for size in range(1, MOST + 1)}
    return lambda size: inputs[size] @ weights


def rows(bench: Bench, sleep: Sleep = time.sleep, make: Callable[[], Callable[[int], Any]] = product) -> Iterator[Draft]:
    clock, work = bench.clock, make()
    assert clock is not None
    cases = [(f"a batch of {size}", (TIME, size)) for size in SIZES] + [(words, (policy, load)) for policy, load, words in STREAMS]
    words_of = {(policy, load): words for policy, load, words in STREAMS}
    times: dict[int, float] = {}
    for name, value in bench.each(cases):
        if name == TIME:
            timing = bench.time(_once(work, value), least=5)
            times[value] = timing.median
            yield case_row(TIME, f"a batch of {value}", {"batch": value}, timing.row())
            continue
        rate = min(value / times[1], 0.8 * MOST / times[MOST])
        moments = poisson(rate, int(min(MANY, max(FEWEST, rate * SECONDS))), 1, SEED)
        run, busy, batches = serve(clock, moments, 1 if name == ONE else MOST, work, bench.stop, sleep)
        share = {"busy": rounded(min(1.0, busy / float(run.span))), "batch": rounded(len(moments) / batches)}
        about = row(name, words_of[name, value], run, {"load": value})
        yield {**about, "params": {**about["params"], **share}}


def _once(work: Callable[[int], Any], size: int) -> Callable[[], Any]:
    return lambda: work(size)
