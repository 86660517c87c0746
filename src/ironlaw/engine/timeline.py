"""When each op of a prediction is on the device: the same dispatch that gave its wall time, with the starts kept.

A queued op starts when its launch is done and the device is free; a synchronous one when its own launch is done; in a
replayed graph all wait for the one launch and a small gap lies before each kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.predict import BARE, OpRow, Prediction, is_sweep
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Slot:
    """One op on the device, in seconds since the run began. `idle`: how long the device had nothing to do just before."""

    row: OpRow
    start: float
    idle: float

    @property
    def end(self) -> float:
        return self.start + float(self.row.seconds)


def timeline(prediction: Prediction) -> tuple[Slot, ...]:
    """The slots in running order; the last one ends at `prediction.seconds`."""
    if is_sweep(prediction):
        raise BadValue(f"{prediction.graph.name} is a sweep over many sizes; a timeline needs one: give a single size")
    plan, hardware = prediction.plan, prediction.hardware
    if plan.mode == "graphs" or hardware.backend == BARE:
        return _replayed(prediction)
    slots: list[Slot] = []
    host = device = 0.0
    for row in prediction.ops:
        host = (host if plan.dispatch == "queued" else device) + float(row.launch_s)
        start = max(host, device)
        slots.append(Slot(row, start, start - device))
        device = slots[-1].end
    return tuple(slots)


def _replayed(prediction: Prediction) -> tuple[Slot, ...]:
    plan, hardware = prediction.plan, prediction.hardware
    launch, gap = hardware.calibration.graph_launch() if prediction.calibrated else (hardware.launch, 0.0)
    slots: list[Slot] = []
    device = 0.0
    for i, row in enumerate(prediction.ops):
        idle = gap * float(row.kernels) + (0.0 if i else float(launch if plan.launch is None else plan.launch))
        slots.append(Slot(row, device + idle, idle))
        device = slots[-1].end
    return tuple(slots)
