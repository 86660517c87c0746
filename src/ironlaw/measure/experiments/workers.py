"""One job over 1, 2, … workers, as threads and as processes. A part of each item holds Python's lock, so threads take turns at it.

Workers are started before the clock runs: what is timed is the job, with handing out its parts and waiting for the last.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.stages_trial import inflate, picture, resize
from ironlaw.measure.rows import Draft, case_row
from ironlaw.measure.software_host import cores

ITEMS = 48
THREADS, PROCESSES = "threads", "processes"
WAYS = (THREADS, PROCESSES)
LINE = b"camera,2026,labels,day,night,rain,street,people,cars"
LINES = 60  # of an item's table: read by Python, which holds the lock


def counts(most: int) -> list[int]:
    """1, 2, 4, … and twice the cores."""
    sizes = [1]
    while sizes[-1] < 2 * most:
        sizes.append(2 * sizes[-1])
    return sizes


def item(packed: bytes) -> int:
    """Inflate and resize, which let go of the lock, then read a table in Python, which does not."""
    small = resize(inflate(packed))
    total = 0
    for number in range(LINES):
        for word in LINE.decode().split(","):
            total = (total * 31 + len(word) + number) % 1_000_003
    return total + int(zlib.crc32(small.tobytes()))


def work(packed: bytes, items: int) -> int:
    return sum(item(packed) for _ in range(items)) % 2**32


def shares(items: int, workers: int) -> list[int]:
    """The shares, as even as possible; a worker may be left without one."""
    return [items // workers + (index < items % workers) for index in range(workers)]


def _serve(calls: Any) -> None:
    """A worker process: so many items each time, until the one that asks is gone."""
    packed = picture()
    while True:
        try:
            calls.send(work(packed, calls.recv()))
        except (EOFError, OSError):
            return


class Crew:
    """Workers of both kinds, started once."""

    def __init__(self, most: int, held: ExitStack) -> None:
        import multiprocessing  # not in a browser, which shows what is measured elsewhere

        self.packed = picture()
        self.threads = held.enter_context(ThreadPoolExecutor(most))
        spawn = multiprocessing.get_context("spawn")  # a fork would copy the library's own threads in whatever state they are
        self.lines: list[Any] = []
        for _ in range(most):
            mine, theirs = spawn.Pipe()
            process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            held.callback(process.join)
            held.callback(mine.close)  # before the join: it is what ends the worker
            self.lines.append(mine)
        self.run(PROCESSES, most, most)  # every worker is up

    def run(self, way: str, workers: int, items: int) -> list[int]:
        parts = [share for share in shares(items, workers) if share]
        if way == THREADS:
            return list(self.threads.map(lambda share: work(self.packed, share), parts))
        for line, share in zip(self.lines, parts, strict=False):
            line.send(share)
        return [line.recv() for line in self.lines[: len(parts)]]


def rows(bench: Bench) -> Iterator[Draft]:
    sizes = counts(cores())
    cases = [(label(way, n), (way, n)) for way in WAYS for n in sizes]
    with ExitStack() as held:
        bench.progress(0.0, "starting the workers")
        crew = Crew(sizes[-1], held)
        for way, n in bench.each(cases):
            yield case_row(
                way, label(way, n), {"workers": n, "items": ITEMS}, bench.time(_job(crew, way, n), least=5, warmup=1, batch=1).row()
            )


def _job(crew: Crew, way: str, n: int) -> Callable[[], list[int]]:
    return lambda: crew.run(way, n, ITEMS)


def label(way: str, n: int) -> str:
    one = {THREADS: "thread", PROCESSES: "process"}[way]
    return f"1 {one}" if n == 1 else f"{n} {way}"
