"""`ironlaw measure --full` on a processor: every kind of op over many shapes.

A call is timed from outside, one at a time, with cold weights. A case during which others used the machine is timed
again; one that never had quiet keeps its quietest turn and says in `others` what share of the processors' time they took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ironlaw.measure.clock import Clock, Timing, timed
from ironlaw.measure.devices.device import Case, Device
from ironlaw.measure.noise import OTHERS, Watch
from ironlaw.measure.progress_lines import Progress, Stop, quiet
from ironlaw.measure.rows import Draft, launch_row, op_row
from ironlaw.measure.suites.cpu import cases

TURNS = 3  # for a case whose machine was not quiet
SECONDS = 0.12  # for one turn
METHOD = (
    "Each op alone, FP32, at PyTorch's own number of threads, no_grad: 3 warm-up calls, then single calls by the performance counter "
    f"for {SECONDS} s or at least 5 of them; wall_s is their median. Weights come from a pool of 256 MiB walked end to end, so they are "
    "cold; activations stay where the last call left them. A case is timed again, up to three times, while other processes take over "
    f"{OTHERS:.0%} of the processors' time; `others` is what they took in the turn that was kept. Launch rows: tiny tensors, calls in "
    "batches. Generated rows: loops that torch.compile wrote for the function named in `what`, compiled beforehand."
)


def sweep(
    device: Device, progress: Progress = quiet, stop: Stop | None = None, seconds: float | None = None, parts: Sequence[str] = ()
) -> list[Draft]:
    """Rows of evidence, launch and op rows alike; stops after `seconds` if given. This sweep has no parts."""
    import torch

    torch.manual_seed(0)
    with device.session():
        rows = [launch(name, call, stop) for name, call in cases.calls().items()]
        return rows + run(cases.cases(), progress, stop, seconds)


def method(device: Device) -> str:
    """How the sweep was timed."""
    return METHOD


def launch(name: str, call: Callable[[], Any], stop: Stop | None = None) -> Draft:
    return launch_row(name, timed(call, seconds=0.05, stop=stop).row())


def run(
    todo: Iterable[Case], progress: Progress = quiet, stop: Stop | None = None, seconds: float | None = None, clock: Clock | None = None
) -> list[Draft]:
    """Each case, one after the other, while time lasts."""
    listed = list(todo)
    rows: list[Draft] = []
    began = time.monotonic()
    for done, case in enumerate(listed):
        progress(done / len(listed), f"{case.op} {done + 1} of {len(listed)}")
        if seconds is not None and time.monotonic() - began > seconds:
            break
        timing, others = quietest(case.prepare(), stop, clock)
        disturbed = {"others": round(others, 3)} if others > OTHERS else {}
        rows.append(op_row(case.op, case.params, timing.row() | disturbed))
    progress(1.0, "done")
    return rows


def quietest(
    call: Callable[[], Any], stop: Stop | None = None, clock: Clock | None = None, watch: Callable[[], Watch] = Watch
) -> tuple[Timing, float]:
    """A call's timing, and the share of the processors' time that others took in that turn."""
    turns: list[tuple[float, Timing]] = []
    for _ in range(TURNS):
        watched = watch()
        timing = timed(call, clock, seconds=SECONDS, least=5, batch=1, stop=stop)
        others = watched.verdict().others or 0.0
        turns.append((others, timing))
        if others <= OTHERS:
            break
    others, timing = min(turns, key=lambda turn: turn[0])
    return timing, others
