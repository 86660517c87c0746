"""Times the calls of an experiment, says how far the run is, asks whether to stop, and visits the reference between the cases, so that
a machine whose speed drifts is noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.measure.clock import Clock, Timing, timed
from ironlaw.measure.devices.device import EAGER, Call, Device, Shape
from ironlaw.measure.noise import Watch
from ironlaw.measure.progress_lines import Cancelled, Progress, Stop, quiet

STEP = ("scale", "shift")
REFERENCE: Shape = (256, 256)
QUEUED = 50  # calls that a sample on a GPU holds at the most


@dataclass
class Bench:
    """`seconds`: how long each case is sampled."""

    device: Device
    progress: Progress = quiet
    stop: Stop | None = None
    seconds: float = 0.3
    clock: Clock | None = None
    watch: Watch | None = None

    def __post_init__(self) -> None:
        self.clock = self.clock or self.device.clock
        self.watch = self.watch or Watch()
        self.work = self.device.pointwise_chain(STEP, REFERENCE, EAGER)

    def time(self, call: Call, **more: Any) -> Timing:
        batch = self._queue(call) if self.device.queued else None
        return timed(call, self.clock, **{"seconds": self.seconds, "least": 7, "stop": self.stop, "batch": batch, **more})

    def _queue(self, call: Call) -> int:
        """Calls in a sample on a GPU: many where they are short, so that waiting for the device is paid once for all."""
        once = timed(call, self.clock, seconds=0.0, least=1, warmup=2, batch=1, stop=self.stop).median
        return max(1, min(QUEUED, int(0.02 / once)))

    def visit(self) -> None:
        """The reference: the same small work each time."""
        assert self.watch is not None
        self.watch.reference(timed(self.work, self.clock, seconds=0.02, least=9, stop=self.stop).median)

    def each(self, cases: Sequence[tuple[str, Any]]) -> Iterator[Any]:
        """The cases one after the other, each announced, with a visit to the reference before each and after the last."""
        for i, (words, case) in enumerate(cases):
            if self.stop is not None and self.stop():
                raise Cancelled("the measurement was stopped; nothing was stored")
            self.progress(i / len(cases), words)
            self.visit()
            yield case
        self.visit()
        self.progress(1.0, "done")
