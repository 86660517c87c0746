"""A script as it is, with its own data, on this machine's device: it trains for real, and its optimiser steps are timed.

The device is waited for only before the first and after the last timed step, so that the steps in between run as they always do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.tracing.scripts.run_script import WARM, Script, as_main, failed, start, stopped
from ironlaw.tracing.scripts.units import Ended
from ironlaw.worker.json_values import Json


class Timed:
    """The steps of the first optimiser that steps; with several, one of its steps is a step of the script."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.counted: Any = None
        self.ends: list[float] = []

    def note(self, optimiser: Any, *_: Any) -> None:
        self.counted = self.counted if self.counted is not None else optimiser
        if optimiser is not self.counted:
            return
        if len(self.ends) + 1 in (WARM, WARM + self.count):
            drained()
        self.ends.append(time.perf_counter())
        if len(self.ends) == WARM + self.count:
            raise Ended

    @property
    def steps(self) -> int:
        return max(0, len(self.ends) - WARM)


def drained() -> None:
    import torch

    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def timed_steps(asked: Script) -> dict[str, Any]:
    """Seconds per step, of how many, on what, and the most memory that PyTorch held where a GPU says so."""
    import torch
    from torch.optim import optimizer

    timed = Timed(asked.steps)
    handle = optimizer.register_optimizer_step_post_hook(timed.note)
    try:
        with as_main(asked), suppress(Ended):
            try:
                start(asked)
            except SystemExit as ended:
                if ended.code not in (None, 0):
                    raise BadValue(stopped(asked, ended)) from None
            except Exception as error:
                raise failed(asked, error) from error
    finally:
        handle.remove()
    if timed.steps < 1:
        raise BadValue(
            f"{asked.place} took {len(timed.ends)} optimiser steps, and the first {WARM} only warm up; let it train for longer, or leave"
            " --real out"
        )
    ran = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {
        "steps": timed.steps, "seconds": (timed.ends[-1] - timed.ends[WARM - 1]) / timed.steps,
        "device": torch.cuda.get_device_name() if ran else "cpu",
        "peak_bytes": float(torch.cuda.max_memory_allocated()) if ran else None,
    }  # fmt: skip


def job(request: Json, send: Callable[[Json], None]) -> Json:
    return timed_steps(Script(request["place"], request["arguments"], request["module"], request["steps"]))
