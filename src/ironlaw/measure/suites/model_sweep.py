"""Operators of one model, each timed alone: on a processor from outside, on a GPU by the profiler, in the order in which they are given.

Rows come as they are measured, so that whoever stops early keeps what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.work import category
from ironlaw.measure.clock import Timing, halt
from ironlaw.measure.devices.device import Call
from ironlaw.measure.devices.torch_device import TorchDevice, first_line
from ironlaw.measure.noise import OTHERS, Watch
from ironlaw.measure.progress_lines import Progress, Stop, quiet
from ironlaw.measure.rows import Draft, op_row, rounded
from ironlaw.measure.suites.cpu.cpu_sweep import quietest
from ironlaw.measure.suites.model_calls import prepare

AT_ONCE = 8  # calls in one session of the profiler: their tensors are in memory together
METHOD = (
    "ironlaw measure --for: calls of a model, captured without its values, each made again alone under no_grad in PyTorch's default "
    "settings. Weights come from copies that outgrow the last cache, taken in turn; other inputs stay where the last call left them. On a "
    "processor wall_s is the median of single calls by the performance counter, for 0.12 s or at least 5; `others` is the share of the "
    "processors that other processes took, where it was over a tenth, and wall_s is then the best call. On a GPU busy_s is the kernels' "
    "time from torch.profiler, median of 8."
)


@dataclass(frozen=True)
class Asked:
    """An operator to time: as a `captured` row holds it, and the call that it came from."""

    params: dict[str, Any]
    call: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.params["kind"])

    def prepared(self, device: TorchDevice) -> Call:
        return prepare(device, self.call, category(self.name) in ("contraction", "attention"))


def sweep(
    device: TorchDevice, asked: Sequence[Asked], seconds: float, progress: Progress = quiet, stop: Stop | None = None,
    watch: Callable[[], Watch] = Watch,
) -> Iterator[Draft]:  # fmt: skip
    """A row for each, until the time is spent. What can't be called again is a row with `error`."""
    began = device.clock.now()
    step = AT_ONCE if device.times_kernels else 1
    with device.torch.no_grad():
        for start in range(0, len(asked), step):
            spent = device.clock.now() - began
            if spent > seconds:
                return
            halt(stop)
            progress(max(start / len(asked), spent / seconds), f"{asked[start].name}, {start + 1} of {len(asked)}")
            yield from _session(device, asked[start : start + step], stop, watch)
            device.release_memory()


def disturbed(timing: Timing, others: float) -> Draft:
    """Other programs only ever make a call longer: of one that never had quiet the best counts."""
    return {"wall_s": rounded(timing.best), "others": round(others, 3)}


def _session(device: TorchDevice, group: Sequence[Asked], stop: Stop | None, watch: Callable[[], Watch]) -> list[Draft]:
    ready: list[tuple[Asked, Call]] = []
    rows: list[Draft] = []
    for one in group:
        try:
            call = one.prepared(device)
            call()
            device.clock.sync()
            ready.append((one, call))
        except Exception as error:  # whatever a library says of a call that it does not take
            rows.append(op_row("captured", one.params, {"error": first_line(error)}))
    if device.times_kernels:
        times = device.busy([call for _, call in ready])
        return rows + [op_row("captured", one.params, each) for (one, _), each in zip(ready, times, strict=False)]
    for one, call in ready:
        timing, others = quietest(call, stop, device.clock, watch)
        rows.append(op_row("captured", one.params, timing.row() | (disturbed(timing, others) if others > OTHERS else {})))
    return rows
