"""When each op of a prediction is on the device: the run that gave its wall time (`dispatch.simulate`), op by op."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.device.predict import OpRow, Prediction, is_sweep
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
    slots: list[Slot] = []
    device = 0.0
    for i, start in enumerate(prediction.run.starts):
        slots.append(Slot(prediction.ops[i], start, start - device))
        device = slots[-1].end
    return tuple(slots)
