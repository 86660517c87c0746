"""Data-parallel training steps of a small net on one process and on two, the global batch fixed: T₂ beside T₁/2 and the gradients' ring.

Each rank has one thread of arithmetic, its share of the batch, and the same weights; gradients are summed up over TCP as in `collectives`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ironlaw.engine.cluster.alpha_beta import Timed, Wire, fit
from ironlaw.engine.cluster.collectives import bus_factor
from ironlaw.engine.cluster.schedules import steps
from ironlaw.errors import BadValue
from ironlaw.measure.clock import Clock, Timing, halt
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.collectives_trial import WIDTH, Rank, Ranks, join
from ironlaw.measure.rows import Draft, case_row

STEP, RING = "step", "ring"
LAYERS, SIDE = 4, 512  # a net of so many square matrices: a million weights
BATCHES = (64, 256, 1024)  # examples per step, over all ranks
RANKS = (1, 2)
SIZES = (1 << 12, 1 << 18, LAYERS * SIDE * SIDE * WIDTH)  # bytes of a ring alone; the last is the net's gradients
ROUNDS = 5  # timed, after one that is not
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")  # as libraries spell it
ALIKE = 1e-3  # how far two ways to add up the same gradients may differ


class Net:
    """Square matrices with a ReLU after each but the last, squared error, plain descent."""

    def __init__(self) -> None:
        import numpy as np

        draw = np.random.default_rng(5)
        self.weights = (draw.standard_normal((LAYERS, SIDE, SIDE)) * (2.0 / SIDE) ** 0.5).astype(np.float32)
        self.gradient = np.zeros_like(self.weights)

    def backward(self, x: Any, y: Any, batch: int) -> None:
        """The gradient of the mean over `batch` examples, as far as these are of it."""
        import numpy as np

        kept = [x]
        for i, matrix in enumerate(self.weights):
            out = kept[-1] @ matrix
            kept.append(np.maximum(out, 0.0) if i < LAYERS - 1 else out)
        back = (kept[-1] - y) * np.float32(2.0 / batch)
        for i in reversed(range(LAYERS)):
            np.matmul(kept[i].T, back, out=self.gradient[i])
            if i:
                back = (back @ self.weights[i].T) * (kept[i] > 0)

    def update(self) -> None:
        self.weights -= 1e-4 * self.gradient


class Answer(NamedTuple):
    """What one rank says: seconds of each round, of them on the wire, and a sum over the gradient that all must share."""

    seconds: list[float]
    wire: list[float]
    check: float


def examples(batch: int) -> tuple[Any, Any]:
    """The same for every rank: (inputs, targets)."""
    import numpy as np

    draw = np.random.default_rng(batch)
    return draw.standard_normal((batch, SIDE), np.float32), draw.standard_normal((batch, SIDE), np.float32)


def _serve(calls: Any, rank: int, ranks: int) -> None:
    """A worker process: joins the other, then does (what, ranks, batch or bytes, rounds) until the one that asks is gone."""
    import numpy as np

    with ExitStack() as held:
        me, clock = Rank(rank, join(calls, rank, ranks, held)), Clock()
        while True:
            try:
                what, count, size, rounds = calls.recv()
            except (EOFError, OSError):
                return
            calls.send(
                train(me, clock, count, size, rounds)
                if what == STEP
                else ring(me, clock, count, np.ones(size // WIDTH, np.float32), rounds)
            )


def train(me: Rank, clock: Clock, count: int, batch: int, rounds: int) -> Answer:
    """Rounds of: gradient of this rank's share, the sum over all, the update."""
    net, (x, y) = Net(), examples(batch)
    share = slice(me.rank * batch // count, (me.rank + 1) * batch // count)
    seconds, wire = [], []
    for _ in range(rounds + 1):
        _meet(me, count)
        begin = clock.now()
        net.backward(x[share], y[share], batch)
        half = clock.now()
        if count > 1:
            me.all_reduce(steps("ring", count), net.gradient.reshape(-1))
        wire.append(clock.now() - half)
        net.update()
        seconds.append(clock.now() - begin)
    return Answer(seconds[1:], wire[1:], float(abs(net.gradient).sum()))


def ring(me: Rank, clock: Clock, count: int, buffer: Any, rounds: int) -> Answer:
    """The sum alone."""
    seconds = []
    for _ in range(rounds + 1):
        _meet(me, count)
        begin = clock.now()
        me.all_reduce(steps("ring", count), buffer)
        seconds.append(clock.now() - begin)
        buffer /= count
    return Answer(seconds[1:], seconds[1:], float(buffer.sum()))


def _meet(me: Rank, count: int) -> None:
    """All are here."""
    import numpy as np

    if count > 1:
        me.all_reduce(steps("binomial", count), np.zeros(1, np.float32))


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes started inside multiply on one thread each: a rank that took every core would leave the second none."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def ask(ranks: Ranks, what: str, count: int, size: int) -> tuple[Timing, Timing, float]:
    """(a round until the last rank is done, the wire's part of it, the sum over the gradient), alike on every rank."""
    lines = ranks.lines[:count]
    for line in lines:
        line.send((what, count, size, ROUNDS))
    answers: list[Answer] = [line.recv() for line in lines]
    if any(abs(answer.check / answers[0].check - 1) > ALIKE for answer in answers):
        raise BadValue(f"{count} ranks ended with different sums of {size:,} {'examples' if what == STEP else 'bytes'}; please report it")
    whole = [max(times) for times in zip(*(answer.seconds for answer in answers), strict=True)]
    wire = [max(times) for times in zip(*(answer.wire for answer in answers), strict=True)]
    return Timing.of(whole), Timing.of(wire), answers[0].check


def rows(bench: Bench) -> Iterator[Draft]:
    cases = [(f"ring of {size >> 10:,} KiB", (RING, RANKS[-1], size)) for size in SIZES]
    cases += [(f"{batch:,} examples on {count}", (STEP, count, batch)) for batch in BATCHES for count in RANKS]
    checks: dict[int, float] = {}
    with ExitStack() as held:
        bench.progress(0.0, "starting the ranks")
        with one_thread():
            ranks = Ranks(RANKS[-1], held, _serve)
        for what, count, size in bench.each(cases):
            halt(bench.stop)
            whole, wire, check = ask(ranks, what, count, size)
            if what == RING:
                yield case_row(RING, f"ring alone, {count} processes, {size >> 10:,} KiB", {"ranks": count, "bytes": size}, whole.row())
                continue
            if abs(check / checks.setdefault(size, check) - 1) > ALIKE:
                raise BadValue(f"{count} processes did not reach the gradient of one on {size:,} examples; please report it")
            params = {"ranks": count, "batch": size, "bytes": SIZES[-1] if count > 1 else 0, "wire_s": wire.row()["wall_s"]}
            title = f"{size:,} examples on {count} process{'es' if count > 1 else ''}"
            yield case_row(STEP, title, params, whole.row())


class Pair(NamedTuple):
    """One batch: seconds per step on one process and on two, of them on the wire, and T₁/2 with a ring as α and β say."""

    batch: int
    alone: float
    two: float
    wire: float
    foretold: float

    @property
    def efficiency(self) -> float:
        """The efficiency of two processes: 1 where two take half the time."""
        return self.alone / (2 * self.two)


def compare(measured: Sequence[Mapping[str, Any]]) -> tuple[Wire, list[Pair]]:
    """α and β of the ring alone, and every batch beside what they predict."""
    alone = [row for row in measured if row["name"] == RING]
    factor = float(bus_factor("all_reduce", RANKS[-1]))
    hops = len(steps("ring", RANKS[-1]).steps)
    wire = fit([Timed(hops, factor * row["params"]["bytes"], row["wall_s"]) for row in alone])
    by = {(row["params"]["batch"], row["params"]["ranks"]): row for row in measured if row["name"] == STEP}
    pairs = []
    for batch in sorted({batch for batch, _ in by}):
        one, two = by[batch, 1], by[batch, 2]
        foretold = one["wall_s"] / 2 + wire.seconds(hops, factor * two["params"]["bytes"])
        pairs.append(Pair(batch, one["wall_s"], two["wall_s"], two["params"]["wire_s"], foretold))
    return wire, pairs
