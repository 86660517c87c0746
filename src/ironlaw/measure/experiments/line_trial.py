"""A real line: one server, Poisson arrivals whose moments are fixed beforehand, a service that waits like a host for its device.

A request's time counts from the moment at which it was to arrive, whenever the server got round to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, pvariance
from typing import Any

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import Run
from ironlaw.measure.clock import Clock, Timing, halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.progress_lines import Stop
from ironlaw.measure.rows import Draft, case_row, rounded

SERVICE_S = 5e-3
LOADS = {0.5: 200, 0.8: 300}  # load -> requests
NAME = "line"
COARSE_S = 2e-3  # sleeping wakes up late: the last of a wait is spent looking at the clock
SEED = 13
FIGURES = ("mean_s", "p99_s", "in_flight", "rate", "service_s", "busy")  # of a run, beside its times
Sleep = Callable[[float], None]


def rows(bench: Bench, sleep: Sleep = time.sleep) -> Iterator[Draft]:
    clock = bench.clock
    assert clock is not None
    for load in bench.each([(f"a line at a load of {load:.0%}", load) for load in LOADS]):
        moments = poisson(load / SERVICE_S, LOADS[load], 1, SEED)
        run = serve(clock, moments, 1, lambda _: sleep(SERVICE_S), bench.stop, sleep)[0]
        yield row(NAME, f"one by one, load {load:.0%}", run, {"load": load})


def serve(
    clock: Clock, moments: Sequence[float], most: int, work: Callable[[int], Any], stop: Stop | None, sleep: Sleep
) -> tuple[Run, float, int]:
    """Takes whatever waits, at most `most` at once. The run as it was, the seconds of work, and the batches."""
    begin = clock.now()
    arrive = [begin + moment for moment in moments]
    start, leave, taken, busy, batches = [0.0] * len(arrive), [0.0] * len(arrive), 0, 0.0, 0
    while taken < len(arrive):
        halt(stop)
        _until(clock, arrive[taken], sleep)
        now = clock.now()
        end = taken + 1
        while end < len(arrive) and end - taken < most and arrive[end] <= now:
            end += 1
        work(end - taken)
        done = clock.now()
        for i in range(taken, end):
            start[i], leave[i] = now, done
        busy, batches, taken = busy + done - now, batches + 1, end
    return Run(tuple(arrive), tuple(start), tuple(leave)), busy, batches


def _until(clock: Clock, moment: float, sleep: Sleep) -> None:
    while (left := moment - clock.now()) > 0:
        if left > COARSE_S:
            sleep(left - COARSE_S)


def row(name: str, label: str, run: Run, params: dict[str, Any]) -> Draft:
    """What the run says: times in the system, and both sides of Little's law, each from what it alone sees."""
    services = [leave - start for start, leave in zip(run.start, run.leave, strict=True)]
    service = fmean(services)
    figures = {
        "mean_s": float(run.mean), "p99_s": float(run.quantile(0.99)), "in_flight": float(run.in_flight), "rate": float(run.rate),
        "service_s": service, "cv2": pvariance(services, service) / service**2, "busy": sum(services) / float(run.span),
    }  # fmt: skip
    return case_row(name, label, params | {key: rounded(value) for key, value in figures.items()}, Timing.of(list(run.times)).row())
