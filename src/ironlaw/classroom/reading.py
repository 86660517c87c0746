"""Reading many files at once, on all cores. What comes back is what the report keeps of each; their events stay behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from ironlaw.classroom.hand_in_file import HandIn, Refusal, read
from ironlaw.classroom.sheets import installed, sheet

FEWEST = 400  # files; under that, other processes take longer to begin than they save
MOST_PROCESSES = 6  # each has a hundred megabytes of its own, and the last stage is one process's alone
AT_ONCE = 50  # files that a process is given; what it gives back shares its texts


def read_all(files: Sequence[tuple[Path, str]], idle_s: float) -> list[HandIn | Refusal]:
    """Each file's content, in their order. A file that kills the process which reads it stops the others from being read at once, and
    no more than that."""
    collecting = gc.isenabled()
    gc.disable()  # nothing here refers to itself, and a class is millions of values that would be looked through again and again
    try:
        pieces = [files[at : at + AT_ONCE] for at in range(0, len(files), AT_ONCE)]
        results: list[HandIn | Refusal] = []
        if len(files) >= FEWEST and cores() > 1:
            try:
                for piece in _in_processes(pieces, idle_s):
                    results += piece
            except BrokenProcessPool:
                pass
        for path, name in files[len(results) :]:
            results.append(read(path, name, idle_s))
        return results
    finally:
        if collecting:
            gc.enable()


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(pieces: Sequence[Sequence[tuple[Path, str]]], idle_s: float) -> Iterator[list[HandIn | Refusal]]:
    # a copy of this process has everything already; where there are threads, their locks would be copied, too
    forks = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    if forks:
        for slug in installed():
            sheet(slug)
    context = multiprocessing.get_context("fork" if forks else "spawn")
    with ProcessPoolExecutor(min(cores(), len(pieces), MOST_PROCESSES), context) as pool:
        yield from pool.map(_read, pieces, [idle_s] * len(pieces))


def _read(files: Sequence[tuple[Path, str]], idle_s: float) -> list[HandIn | Refusal]:
    gc.disable()
    return [read(path, name, idle_s) for path, name in files]
