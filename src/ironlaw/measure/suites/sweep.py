"""`ironlaw measure --full`: every kind of op over many shapes, so that each kind of kernel gets a curve of its own.

On a processor a call is timed from outside, one at a time, with cold weights. A case during which others used the machine is timed
again; one that never had quiet keeps its quietest turn and says in `others` what share of the processors' time they took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.measure.clock import Clock, Timing, timed
from ironlaw.measure.devices.device import Case
from ironlaw.measure.noise import OTHERS, Watch
from ironlaw.measure.progress import Progress, Stop, quiet

Row = dict[str, Any]
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
    backend: str, progress: Progress = quiet, stop: Stop | None = None, seconds: float | None = None, parts: Sequence[str] = ()
) -> list[Row]:
    """Rows of evidence for the wide sweep, op and launch rows alike; stops after `seconds` if given. `parts`: which, on a GPU."""
    if backend == "cuda":
        from ironlaw.measure.suites.cuda.sweep import sweep as on_cuda

        return on_cuda(progress, stop, seconds, parts=parts or chosen(backend))
    if backend != "cpu":
        raise BadValue(f"no wide sweep for {backend!r}; leave --full out, or measure the processor with --device cpu")
    import torch

    from ironlaw.measure.suites.cpu import cases as cases_cpu

    torch.manual_seed(0)
    with torch.no_grad():
        rows = [launch(name, call, stop) for name, call in cases_cpu.calls().items()]
        return rows + run(list(cases_cpu.cases()), progress, stop, seconds)


def chosen(backend: str, text: str | None = None) -> tuple[str, ...]:
    """The parts of the sweep that `--part a,b` names; all without it. Only a GPU's sweep has parts."""
    if backend != "cuda":
        if text:
            raise BadValue(f"only the sweep of a GPU comes in parts, and this one is for {backend}; leave --part out")
        return ()
    from ironlaw.measure.suites.cuda.parts import PARTS

    names = tuple(name.strip() for name in text.split(",")) if text else tuple(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise BadValue(f"no part {unknown[0]!r} of the sweep; choose from {', '.join(PARTS)}")
    return names


def method(backend: str) -> str:
    """How the sweep was timed."""
    if backend != "cuda":
        return METHOD
    from ironlaw.measure.suites.cuda.sweep import method as on_cuda

    return on_cuda()


def launch(name: str, call: Callable[[], Any], stop: Stop | None = None) -> Row:
    return {"kind": "launch", "op": name, **timed(call, seconds=0.05, stop=stop).row()}


def run(
    todo: Iterable[Case], progress: Progress = quiet, stop: Stop | None = None, seconds: float | None = None, clock: Clock | None = None
) -> list[Row]:
    """Each case, one after the other, while time lasts."""
    cases = list(todo)
    rows: list[Row] = []
    began = time.monotonic()
    for done, case in enumerate(cases):
        progress(done / len(cases), f"{case.op} {done + 1} of {len(cases)}")
        if seconds is not None and time.monotonic() - began > seconds:
            break
        timing, others = quietest(case.prepare(), stop, clock)
        row = {"kind": "op", "op": case.op, "params": case.params, **timing.row()}
        rows.append(row | ({"others": round(others, 3)} if others > OTHERS else {}))
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
