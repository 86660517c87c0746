"""Two testers against one real server that stops once: one waits for each answer, the other sends on schedule.

The server is a thread that takes requests in order, a short sleep for each. In the middle of a test it stops for half a second. Every
answer is timed twice over: by the polite tester from when it sent, by the users' from when a request was due.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from time import sleep

from ironlaw.engine.serving.line import ranked
from ironlaw.engine.serving.samples import order_interval, rank
from ironlaw.measure.clock import Clock
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.progress_lines import Cancelled
from ironlaw.measure.rows import Draft, figure_row, rounded

RATE = 200.0  # requests per second
COUNT = 400  # requests of a test: enough for both ends of a P99
SERVICE_S = 0.0005
STALL_S = 0.5
CLOSED, OPEN = "closed", "open"
LABELS = {CLOSED: "tester waits for each answer", OPEN: "requests on schedule"}
PERCENTILES = (0.5, 0.9, 0.99)


class Server:
    """Answers in order; stops before the middle request of a test. A stopped server first answers what it has."""

    def __init__(self, clock: Clock, count: int, stall: float) -> None:
        self.clock, self.stall, self.middle = clock, stall, count // 2
        self.line: SimpleQueue[threading.Event | None] = SimpleQueue()
        self.ends: list[float] = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while (answered := self.line.get()) is not None:
            if len(self.ends) == self.middle:
                sleep(self.stall)
            sleep(SERVICE_S)
            self.ends.append(self.clock.now())
            answered.set()

    def send(self) -> threading.Event:
        answered = threading.Event()
        self.line.put(answered)
        return answered

    def close(self) -> None:
        self.line.put(None)
        self.thread.join()


def test(bench: Bench, way: str) -> list[float]:
    """Seconds to each answer, in the order of sending."""
    clock = bench.clock
    assert clock is not None
    server, starts = Server(clock, COUNT, STALL_S), list[float]()
    try:
        begin = clock.now()
        for i in range(COUNT):
            if bench.stop is not None and bench.stop():
                raise Cancelled("the measurement was stopped; nothing was stored")
            due = begin + i / RATE if way == OPEN else max(clock.now(), starts[-1] + 1 / RATE if starts else begin)
            sleep(max(0.0, due - clock.now()))
            starts.append(due if way == OPEN else clock.now())
            answered = server.send()
            if way == CLOSED:
                answered.wait()
    finally:
        server.close()
    return [end - start for end, start in zip(server.ends, starts, strict=True)]


def rows(bench: Bench) -> Iterator[Draft]:
    for way in bench.each([(LABELS[way], way) for way in (CLOSED, OPEN)]):
        yield from _figures(way, sorted(test(bench, way)))


def _figures(way: str, ordered: list[float]) -> Iterator[Draft]:
    """Percentiles with their 95% band; where the count leaves an end open, the smallest or largest stands for it and the row says so."""
    n = len(ordered)
    for p in PERCENTILES:
        low, high = order_interval(n, p)
        yield figure_row(
            way, f"P{100 * p:g}, {LABELS[way]}", rounded(ranked(ordered, p)), rounded(ordered[(low or 1) - 1]),
            rounded(ordered[(high or n) - 1]), "s", n, p=p, rank=rank(n, p), open_end=high is None,
        )  # fmt: skip
