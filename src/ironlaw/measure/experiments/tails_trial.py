"""Chains of five calls on this machine, alone and beside noisy neighbours: what five in a row take, and what five independent draws would.

Where slow moments last, calls in a row share them: the chain's tail is then longer than that of independent calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

from ironlaw.engine.serving.line import ranked
from ironlaw.engine.streams import uniform
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.fan_out import calls, grid, product
from ironlaw.measure.rows import Draft, case_row, rounded

CALLS, CHAIN, NEIGHBOURS = 6_000, 5, 2
SHARES = {"wall_s": 0.5, "low_s": 0.1, "high_s": 0.9}
SEED = 12


def rows(bench: Bench) -> Iterator[Draft]:
    """One call, five in a row, five drawn independently; the P99 of each among its figures, and five times that of one."""
    for neighbours in bench.each([("calls alone", 0), (f"calls beside {NEIGHBOURS} neighbours", NEIGHBOURS)]):
        with ExitStack() as house:
            for _ in range(neighbours):
                house.enter_context(neighbour())
            seconds = calls(bench, product(), CALLS)
        beside = f", {neighbours} neighbours" if neighbours else ""
        ordered = sorted(seconds)
        one = _row("one", f"one call{beside}", ordered, neighbours)
        yield one | {"params": one["params"] | {"quantiles": grid(ordered)}}
        yield _row("chain", f"five in a row{beside}", sorted(chains(seconds)), neighbours)
        drawn = _row("independent", f"five, were they independent{beside}", sorted(chains(shuffled(seconds))), neighbours)
        yield drawn | {"params": drawn["params"] | {"five_times_one_s": rounded(CHAIN * one["params"]["p99_s"])}}


@contextmanager
def neighbour() -> Iterator[None]:
    """Someone else's products on another thread, until the block ends."""
    over, work = Event(), product()

    def busy() -> None:
        while not over.is_set():
            for _ in range(20):
                work()

    thread = Thread(target=busy, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def chains(seconds: Sequence[float]) -> list[float]:
    """The sums of every five in a row."""
    return [sum(seconds[i : i + CHAIN]) for i in range(0, len(seconds) - CHAIN + 1, CHAIN)]


def shuffled(seconds: Sequence[float]) -> list[float]:
    """The same calls in an order that does not depend on when they ran."""
    keys = uniform(SEED, len(seconds))
    return [seconds[i] for i in sorted(range(len(seconds)), key=keys.__getitem__)]


def _row(name: str, label: str, ordered: Sequence[float], neighbours: int) -> Draft:
    times = {key: rounded(ranked(ordered, p)) for key, p in SHARES.items()}
    params = {"neighbours": neighbours, "p99_s": rounded(ranked(ordered, 0.99))}
    return case_row(name, label, params, {**times, "samples": len(ordered)})
