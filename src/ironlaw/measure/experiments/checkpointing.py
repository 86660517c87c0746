"""A job killed by SIGKILL at drawn moments and started again from its last save: what is left of the time, at several intervals.

First what a save takes; then, interval after interval, the same gaps between kills, drawn from strata of an exponential law so that their
mean is the stated one. Work counts where a save has made it last.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from ironlaw import home
from ironlaw.engine.cluster.failures import young
from ironlaw.errors import BadValue
from ironlaw.measure.clock import Timing, halt
from ironlaw.measure.experiments import folder_guard
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, case_row, figure_row, rounded

STATE = 32 << 20  # bytes
FACTORS = (0.25, 1.0, 2.0, 4.0)  # intervals, over Young's
KILLS = 6  # at each interval
SHORTEST_S, LONGEST_S = 0.8, 1.6  # mean time between kills: it grows with slow saves and starts
PER_SAVE, PER_START = 10.0, 3.0  # so many saves and starts fit into it, where it may grow that far
TRIALS = 6  # saves before the first kill
GRACE_S = 10.0  # a job that nobody ends any more ends by itself after so long
NAMES = SAVE, RESTART, GOODPUT = "save", "restart", "goodput"
HERE = Path(__file__).parent


def gaps(count: int, mean: float, seed: int = 7) -> list[float]:
    """Seconds between kills: one drawn from each of `count` equal strata of an exponential law, in no order, their mean exact."""
    source = random.Random(seed)
    drawn = [-math.log(1.0 - (stratum + source.random()) / count) for stratum in range(count)]
    source.shuffle(drawn)
    return [mean * count * gap / sum(drawn) for gap in drawn]


class Job:
    """The process, its folder, and what it said before it was killed."""

    def __init__(self, held: ExitStack, state: int) -> None:
        import numpy as np

        from ironlaw.measure.experiments import checkpoint_job

        # a disk that keeps things: the folder for temporary files may be memory
        self.folder = Path(tempfile.mkdtemp(prefix="checkpointing-", dir=home.path()))
        held.callback(folder_guard.remove, self.folder)
        guard = subprocess.Popen(
            [sys.executable, "-I", HERE / "folder_guard.py", self.folder], stdin=subprocess.PIPE, start_new_session=os.name == "posix"
        )
        held.callback(guard.communicate)
        self.format = checkpoint_job
        self.ups: list[float] = []
        self.saves: list[float] = []
        self.format.save(self.folder, checkpoint_job.Saved(0, 0.0, np.zeros(state // 4, np.float32)))

    def life(self, interval: float, seconds: float, bench: Bench, saves: int = sys.maxsize) -> float:
        """A life, from a start to the kill `seconds` later, or to the end of so many saves; gives the seconds of work that last by then."""
        began = time.perf_counter()
        asked = {"interval": interval, "began": began, "longest": seconds + GRACE_S, "saves": saves}
        words = [word for name, value in asked.items() for word in (f"--{name}", repr(value))]
        process = subprocess.Popen(
            [sys.executable, HERE / "checkpoint_job.py", self.folder, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        ended = False
        try:
            while (left := began + seconds - time.perf_counter()) > 0 and not ended:
                halt(bench.stop)
                try:
                    process.wait(min(left, 0.05))
                    ended = True
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()  # SIGKILL: no handler, nothing is flushed
            spoken, errors = process.communicate()
        if ended and process.returncode:
            raise BadValue(f"the job broke off: {errors.strip().splitlines()[-1:] or process.returncode}; measure again")
        self._hear(spoken)
        return self.format.head(self.folder)[1]

    def _hear(self, spoken: str) -> None:
        for line in spoken.splitlines():
            what, _, seconds = line.partition(" ")
            (self.ups if what == "up" else self.saves).append(float(seconds))


def lasting(job: Job, interval: float, between: Sequence[float], bench: Bench) -> list[float]:
    """Seconds of work that each life added for good."""
    before, added = job.format.head(job.folder)[1], []
    for gap in between:
        after = job.life(interval, gap, bench)
        added.append(after - before)
        before = after
    job.format.load(job.folder)  # whole after the last kill, too
    return added


def jackknife(added: Sequence[float], between: Sequence[float]) -> tuple[float, float]:
    """A 95% interval of Σ work / Σ time, from leaving out one life at a time."""
    count, work, whole = len(added), sum(added), sum(between)
    rest = [(work - a) / (whole - b) for a, b in zip(added, between, strict=True)]
    middle = sum(rest) / count
    spread = 1.96 * math.sqrt((count - 1) / count * sum((each - middle) ** 2 for each in rest))
    return max(0.0, work / whole - spread), min(1.0, work / whole + spread)


def rows(bench: Bench) -> Iterator[Draft]:
    with ExitStack() as held:
        bench.progress(0.0, "starting the job")
        job = Job(held, STATE)
        job.life(0.0, GRACE_S, bench, TRIALS)
        save = median(job.saves)
        mean = min(LONGEST_S, max(SHORTEST_S, PER_SAVE * save, PER_START * job.ups[0]))
        between = gaps(KILLS, mean)
        best = float(young(save, mean))
        for factor in bench.each([(f"{KILLS} kills, saved every {factor * best:.2g} s", factor) for factor in FACTORS]):
            added = lasting(job, factor * best, between, bench)
            share, (low, high) = sum(added) / sum(between), jackknife(added, between)
            params: dict[str, Any] = {"factor": factor, "interval_s": rounded(factor * best), "mtbf_s": rounded(mean), "kills": KILLS}
            label = f"useful work, saved every {factor * best:.2g} s"
            yield figure_row(GOODPUT, label, rounded(100 * share), rounded(100 * low), rounded(100 * high), "%", KILLS, **params)
        size = f"{STATE >> 20} MiB" if STATE >> 20 else f"{STATE >> 10} KiB"
        yield case_row(SAVE, f"a save of {size}, synced", {"bytes": STATE}, Timing.of(job.saves).row())
        yield case_row(RESTART, f"a start, {size} read back", {"bytes": STATE}, Timing.of(job.ups).row())
