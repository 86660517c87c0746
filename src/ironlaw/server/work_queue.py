"""The threads that compute for pages, and in which order. Everything that takes time leaves the event loop.

Python computes one thing at a time, so where many pages ask at once, order is what a learner feels: the picture of a dial that is being
turned goes first, then what was pressed or has come to rest, then a page that opens. What a page only asks for in advance comes last, and
not at all while others wait. First does not mean always: each kind may wait for so long, and whoever's time is up first is next, so nobody
waits endlessly. Of each kind only so many run at once: a few pages that open never take all threads.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

LOOK, ACT, OPEN, AHEAD = range(4)
MAY_WAIT_S = {LOOK: 0.0, ACT: 0.3, OPEN: 1.5, AHEAD: 5.0}
AT_ONCE = {LOOK: 8, ACT: 6, OPEN: 2, AHEAD: 1}  # an act may wait for the disk or the database, so more of them than processors
THREADS = 8
BUSY = 4  # with so many waiting, nothing is computed in advance

Result = TypeVar("Result")


class WorkQueue:
    """Starts its threads when they are first needed; they end with the process."""

    def __init__(self, threads: int = THREADS, at_once: dict[int, int] | None = None) -> None:
        self.threads, self.at_once = threads, at_once or AT_ONCE
        self.running = dict.fromkeys(self.at_once, 0)
        self.ready = threading.Condition()
        # of each kind: until when it may wait, and what is to be done; equal times in the order of their arrival
        self.waiting: dict[int, list[tuple[float, int, Callable[[], None]]]] = {kind: [] for kind in self.at_once}
        self.number = itertools.count()
        self.started = 0

    @property
    def is_busy(self) -> bool:
        return sum(map(len, self.waiting.values())) >= BUSY

    async def run(self, kind: int, work: Callable[..., Result], *arguments: Any) -> Result:
        """What `work` returns, or its exception. If the caller no longer waits, nothing is computed."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()

        def done(result: Any, error: BaseException | None) -> None:
            if answer.done():  # cancelled meanwhile
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        def job() -> None:
            if answer.cancelled():
                return
            result, error = None, None
            try:
                result = work(*arguments)
            except BaseException as caught:
                error = caught
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(done, result, error)

        self.put(kind, job)
        return await answer

    def put(self, kind: int, job: Callable[[], None]) -> None:
        with self.ready:
            heapq.heappush(self.waiting[kind], (time.monotonic() + MAY_WAIT_S[kind], next(self.number), job))
            if self.started < self.threads:
                self.started += 1
                threading.Thread(target=self.serve, name="ironlaw-work", daemon=True).start()
            self.ready.notify()

    def serve(self) -> None:
        while True:
            with self.ready:
                while (kind := self.next_kind()) is None:
                    self.ready.wait()
                *_, job = heapq.heappop(self.waiting[kind])
                self.running[kind] += 1
            try:
                job()
            finally:
                with self.ready:
                    self.running[kind] -= 1
                    self.ready.notify()

    def next_kind(self) -> int | None:
        """The job whose time is up first, among those that wait and may run; a thread is always left for looks."""
        others = sum(self.running.values()) - self.running[LOOK]
        free = [kind for kind in self.waiting if self.running[kind] < self.at_once[kind] and (kind == LOOK or others < self.threads - 1)]
        return min((kind for kind in free if self.waiting[kind]), key=lambda kind: self.waiting[kind][0][:2], default=None)


WORK = WorkQueue()
