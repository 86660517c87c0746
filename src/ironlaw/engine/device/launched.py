"""One pass of a model as launches and the device time behind each, and where its wall time goes under each way of launching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.device.dispatch import Run, graph_replay, queued, synchronous
from ironlaw.engine.device.prediction import Prediction


@dataclass(frozen=True)
class Spent:
    """Seconds: where the wall time of a pass goes. The parts add up to it."""

    wall: float
    compute: float
    memory: float
    floor: float  # what kernels take whatever their size, where it was measured
    launches: int

    @property
    def busy(self) -> float:
        return self.compute + self.memory + self.floor

    @property
    def dispatch(self) -> float:
        """Launches that no kernel covers."""
        return self.wall - self.busy


@dataclass(frozen=True)
class Launched:
    """`launches[i]`: host seconds before `kernels[i]`, device seconds; `count` kernels in all. The device's time is compute, memory, and
    the floor that a kernel takes whatever its size."""

    launches: Sequence[float]
    kernels: Sequence[float]
    count: int
    compute: float
    memory: float
    floor: float = 0.0

    def run(self, is_queued: bool) -> Run:
        return (queued if is_queued else synchronous)(self.launches, self.kernels)

    def replayed(self, start: float, gap: float = 0.0) -> Run:
        """Recorded once, then started with one launch."""
        entries = len(self.kernels)
        return graph_replay(start, self.kernels, [self.count / entries] * entries, gap)

    def spent(self, run: Run) -> Spent:
        return Spent(float(run.wall), self.compute, self.memory, self.floor, self.count)


def equal_kernels(count: int, launch: float, compute: float, memory: float = 0.0) -> Launched:
    """`count` kernels that share their device time evenly, each behind a launch of its own."""
    return Launched([launch] * count, [(compute + memory) / count] * count, count, compute, memory)


def as_predicted(prediction: Prediction, count: int, speed: float = 1.0) -> Launched:
    """The ops of a prediction behind `count` launches instead of its own, on a device that is `speed` times as fast."""
    rows, each = prediction.ops, count / float(prediction.kernels)
    kernels = [float(row.seconds) / speed for row in rows]
    compute = sum(float(row.compute_s) for row in rows) / speed
    floor = sum(float(row.floor_s) for row in rows) / speed
    return Launched([float(row.launch_s) * each for row in rows], kernels, count, compute, sum(kernels) - compute - floor, floor)
