"""How launches meet kernels: one at a time, queued, or replayed as a graph.

synchronous  wall = Σ (launch + kernel)             the CPU waits for each kernel
queued       the CPU runs ahead; kernel i starts when it is launched and the device is free:
             device = max(device, host) + kernel    (a scan over the ops is the truth)
graph        wall = one launch + Σ (kernel + gap)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import Number, is_array, maximum, ratio, total
from ironlaw.engine.sweep import points
from ironlaw.errors import unknown


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a run of kernels comes to, in seconds."""

    wall: Number
    busy: Number

    @property
    def idle(self) -> Number:
        """Device time with nothing to do: launches that no kernel covers."""
        return self.wall - self.busy

    @property
    def utilization(self) -> Number:
        return ratio(self.busy, self.wall)


def synchronous(launches: Sequence[Number], kernels: Sequence[Number]) -> Timeline:
    busy = sum(kernels)
    return Timeline(sum(launches) + busy, busy)


def queued(launches: Sequence[Number], kernels: Sequence[Number]) -> Timeline:
    if is_array(*launches, *kernels):
        return _queued_arrays(launches, kernels)
    host = device = busy = 0.0
    for launch, kernel in zip(launches, kernels, strict=True):
        host += launch
        device = (host if host > device else device) + kernel
        busy += kernel
    return Timeline(device, busy)


def _queued_arrays(launches: Sequence[Number], kernels: Sequence[Number]) -> Timeline:
    """The same scan over many points at once, in place."""
    import numpy as np

    shape = np.broadcast_shapes(*{value.shape for value in (*launches, *kernels) if hasattr(value, "shape")})
    kernels = list(kernels)  # rows of one array become objects that stay the same
    alike = {id(kernel): kernel for kernel in kernels}  # a model repeats its layers: equal kernels are one array
    host: Number = 0.0
    device = np.zeros(shape)
    counts = dict.fromkeys(alike, 0)
    written = {key: points(kernel) for key, kernel in alike.items()}
    for launch, kernel in zip(launches, kernels, strict=True):
        host = host + launch
        np.maximum(device, host, out=device)
        device += written[id(kernel)]
        counts[id(kernel)] += 1
    return Timeline(device, np.zeros(shape) + total(counts[key] * kernel for key, kernel in alike.items()))


def graph_replay(launch: Number, kernels: Sequence[Number], counts: Sequence[Number], gap: Number = 0.0) -> Timeline:
    """One launch for all; `gap` between kernels, `counts[i]` kernels behind entry i."""
    busy = sum(kernels)
    return Timeline(launch + busy + gap * sum(counts), busy)


def idle_gaps(launches: Sequence[float], kernels: Sequence[float]) -> list[tuple[float, float]]:
    """Where the device waits in a queued run: (start, length) of each gap, for a waterfall."""
    host = device = 0.0
    gaps = []
    for launch, kernel in zip(launches, kernels, strict=True):
        host += launch
        if host > device:
            gaps.append((device, host - device))
            device = host
        device += kernel
    return gaps


def utilization(count: Number, kernel: Number, launch: Number, memory: Number = 0.0, mode: str = "queued") -> Number:
    """U = N·t_c / wall for N equal kernels of t_c and launches of t_l, with t_mem of memory time beside them.

    synchronous: wall = N·(t_c + t_l) + t_mem. queued: launch-bound, all launches plus the last kernel; device-bound,
    one launch plus all kernels; whichever is longer.
    """
    if mode not in ("queued", "synchronous"):
        raise unknown("dispatch", mode, ("queued", "synchronous"))
    compute = count * kernel
    if mode == "synchronous":
        return compute / (count * (kernel + launch) + memory)
    device = kernel + memory / count
    return compute / maximum(count * launch + device, launch + count * device)
