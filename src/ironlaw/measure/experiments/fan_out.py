"""The machine's own tail: thousands of equal calls one after the other, and pages that wait for the slowest of k of them.

Pages are joined in two ways: from calls that ran next to each other, and from the share of calls that were slow as if they were
independent, F^k. Where slow calls come together the first are faster: one slow moment is paid by one page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from ironlaw.engine.serving.line import ranked
from ironlaw.engine.serving.tails import fan_out_quantile
from ironlaw.measure.clock import Clock
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.progress_lines import Cancelled
from ironlaw.measure.rows import Draft, case_row, rounded
from ironlaw.measure.software_host import cores

CALLS = 4_000
WIDTH = 64  # of the small product
JOINED = (1, 2, 5, 10, 20, 50, 100)
TOGETHER = 300  # pages whose calls really run side by side, for each k
LEAF, PAGE, INDEPENDENT, PARALLEL = "leaf", "joined", "independent", "parallel"
GRID = 500  # steps of the leaf's quantiles that are kept


def product() -> Callable[[], object]:
    import numpy as np

    a = np.random.default_rng(0).standard_normal((WIDTH, WIDTH))
    return lambda: a @ a


def calls(bench: Bench, call: Callable[[], object], count: int) -> list[float]:
    """Seconds of each, in order."""
    clock = bench.clock
    assert clock is not None
    for _ in range(50):
        call()
    seconds = []
    for i in range(count):
        if i % 64 == 0:
            _go_on(bench)
        seconds.append(_timed(clock, call))
    return seconds


def _timed(clock: Clock, call: Callable[[], object]) -> float:
    start = clock.now()
    call()
    return max(clock.now() - start, 1e-9)


def _go_on(bench: Bench) -> None:
    if bench.stop is not None and bench.stop():
        raise Cancelled("the measurement was stopped; nothing was stored")


def pages(seconds: Sequence[float], k: int) -> list[float]:
    """The slowest of every k consecutive calls."""
    return [max(seconds[i : i + k]) for i in range(0, len(seconds) - k + 1, k)]


def side_by_side(bench: Bench, call: Callable[[], object], k: int, count: int) -> list[float]:
    """Pages whose k calls run at once, each on a thread of its own."""
    clock, times = bench.clock, list[float]()
    assert clock is not None
    with ThreadPoolExecutor(k) as threads:
        list(threads.map(lambda _: call(), range(k)))
        for i in range(count):
            if i % 16 == 0:
                _go_on(bench)
            start = clock.now()
            list(threads.map(lambda _: call(), range(k)))
            times.append(max(clock.now() - start, 1e-9))
    return times


def grid(ordered: Sequence[float]) -> list[float]:
    """The leaf's quantiles in even steps, from the least to the largest: enough to draw calls like it."""
    return [rounded(ordered[round(i / GRID * (len(ordered) - 1))]) for i in range(GRID + 1)]


def rows(bench: Bench) -> Iterator[Draft]:
    call = product()
    together = [k for k in (2, 4, 8, 16) if k <= cores()]
    cases = [("calls one after the other", 0), *((f"{k} calls at once", k) for k in together)]
    for k in bench.each(cases):
        if k:
            yield _row(PARALLEL, f"{k} calls at once, on threads", k, sorted(side_by_side(bench, call, k, TOGETHER)))
            continue
        seconds = calls(bench, call, CALLS)
        ordered = sorted(seconds)
        yield _row(LEAF, "one call", 1, ordered) | {"params": {"k": 1, "quantiles": grid(ordered)}}
        for joined in JOINED[1:]:
            yield _row(PAGE, f"slowest of {joined} in a row", joined, sorted(pages(seconds, joined)))
            yield _independent(joined, ordered)


def _row(name: str, label: str, k: int, ordered: Sequence[float]) -> Draft:
    times = {key: rounded(ranked(ordered, p)) for key, p in (("wall_s", 0.5), ("low_s", 0.1), ("high_s", 0.9))}
    return case_row(name, label, {"k": k}, {**times, "samples": len(ordered)})


def _independent(k: int, ordered: Sequence[float]) -> Draft:
    """What pages of k would be if slow calls knew nothing of each other: the leaf's quantile p^(1/k)."""
    times = {key: rounded(ranked(ordered, fan_out_quantile(p, k))) for key, p in (("wall_s", 0.5), ("low_s", 0.1), ("high_s", 0.9))}
    return case_row(INDEPENDENT, f"slowest of {k}, were they independent", {"k": k}, {**times, "samples": len(ordered)})
