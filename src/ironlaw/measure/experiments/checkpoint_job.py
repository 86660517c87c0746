"""The job that `checkpointing` kills: it adds one to every number of its state, over and over, and saves it now and then.

Run as a script with nothing but NumPy, so that a restart is Python, NumPy and the state. A state is whole when each of its numbers is the
count of steps.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

NAME, TEMPORARY = "state", "state.new"
HEAD = 2  # numbers of eight bytes before the state: steps, and seconds of work


class Saved(NamedTuple):
    steps: int
    worked: float  # seconds
    state: Any


def save(folder: Path, saved: Saved) -> None:
    """Written beside the last one, synced, renamed over it, and the folder synced: at every moment one whole state is there."""
    with open(folder / TEMPORARY, "wb", buffering=0) as file:
        for part in (np.array([saved.steps, saved.worked]), saved.state):
            left = part.data.cast("B")
            while left:
                left = left[file.write(left) :]
        os.fsync(file.fileno())
    os.replace(folder / TEMPORARY, folder / NAME)
    if os.name == "posix":  # elsewhere a folder can't be opened
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def head(folder: Path) -> tuple[int, float]:
    """(steps, seconds of work) that would survive now."""
    steps, worked = np.fromfile(folder / NAME, np.float64, HEAD)
    return int(steps), float(worked)


def load(folder: Path) -> Saved:
    steps, worked = head(folder)
    state = np.fromfile(folder / NAME, np.float32, offset=8 * HEAD)
    if not state.size or state.min() != steps or state.max() != steps:
        raise SystemExit(f"the state in {folder} is not whole after {steps} steps; please report it")
    return Saved(steps, worked, state)


def run(folder: Path, interval: float, began: float, longest: float, saves: int) -> None:
    """Says what the start took and what each save took, until `saves` of them are done or the time is up."""
    steps, worked, state = load(folder)
    print("up", time.perf_counter() - began, flush=True)
    end, kept = began + longest, worked
    while saves and time.perf_counter() < end:
        before = time.perf_counter()
        state += 1
        steps += 1
        after = time.perf_counter()
        worked += after - before
        if worked - kept >= interval:
            save(folder, Saved(steps, worked, state))
            print("saved", time.perf_counter() - after, flush=True)
            kept, saves = worked, saves - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--interval", type=float, required=True, help="seconds of work between two saves")
    parser.add_argument("--began", type=float, required=True, help="when it was started, by the machine's clock")
    parser.add_argument("--longest", type=float, required=True, help="seconds after which it ends, even if others still run")
    parser.add_argument("--saves", type=int, default=sys.maxsize, help="saves after which it ends")
    args = parser.parse_args()
    run(args.folder, args.interval, args.began, args.longest, args.saves)


if __name__ == "__main__":
    main()
