"""Batches on this machine's cores, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

from ironlaw.errors import IronlawError
from ironlaw.studies.study_rows import Batch, Row, answer

BREAKS = 3  # times that a killed process is replaced


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_cores(name: str, work: Sequence[Batch], jobs: int) -> Generator[list[Row]]:
    """Rows of each batch as it is done. With one job there is no other process."""
    if jobs == 1:
        yield from (answer(name, batch) for batch in work)
        return
    left = dict(enumerate(work))
    for _ in range(BREAKS):
        try:
            yield from _pooled(name, left, jobs)
        except BrokenProcessPool:  # one was killed, and takes the pool with it; what is left is given out again
            continue
        return
    raise IronlawError(
        f"processes of this run were killed {BREAKS} times, most often because memory ran out; what was computed is stored:"
        " run the same command again with fewer --jobs"
    )


def _pooled(name: str, left: dict[int, Batch], jobs: int) -> Generator[list[Row]]:
    """Batches leave `left` when their rows are handed over."""
    others = set(multiprocessing.active_children())
    # spawn: a forked process would keep the folder's lock, and threads of others would be cut off
    pool = ProcessPoolExecutor(min(jobs, len(left)), multiprocessing.get_context("spawn"), _end_with_parent)
    done = False
    try:
        waiting: dict[Future[list[Row]], int] = {pool.submit(answer, name, batch): number for number, batch in left.items()}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                rows = future.result()
                del left[waiting.pop(future)]
                yield rows
        done = True
    finally:
        if not done:  # Ctrl-C: batches that run now are not waited for
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: Ctrl-C is the parent's to handle, and without a parent there is nobody to work for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        with suppress(Exception):
            if parent is not None:
                parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
