"""How launches meet kernels: one at a time, queued, or replayed as a graph.

synchronous  wall = Σ (launch + kernel)             the CPU waits for each kernel
queued       the CPU runs ahead; kernel i starts when it is launched and the device is free:
             device = max(device, host) + kernel    (a scan over the ops is the truth); where an op makes the CPU
             wait (it reads a value), host = device; what ranks do together runs on a stream of its own beside it
replayed     wall = one launch + Σ (kernel + gap)

`simulate` is the only place where this happens: a prediction takes its wall time from it, a timeline its starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

from ironlaw.engine.arrays import Number, is_array, maximum, ratio, total
from ironlaw.engine.device.machine import SCHEDULES
from ironlaw.engine.device.sweep import points
from ironlaw.errors import unknown

SWING = 1.5  # by which the device or the host is slowed down to see how the wall time follows


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the ops of a run are launched."""

    dispatch: str  # queued | synchronous | replayed
    launches: Sequence[Number] = ()  # host seconds before each op; none in a replay
    start: Number = 0.0  # a replay's one launch
    gap: Number = 0.0  # before each kernel of a replay
    counts: Sequence[Number] = ()  # kernels behind each op of a replay
    waits: Sequence[bool] = ()  # whether the host waits for each op of a queue; none of them where this is empty
    sends: Sequence[int] = ()  # what each op of a queue is to the wires between ranks (`engine.device.wires`); nothing where this is empty
    joins: Sequence[int] = ()  # the last op on the wires that each waits for, or -1

    def __post_init__(self) -> None:
        if self.dispatch not in SCHEDULES:
            raise unknown("dispatch", self.dispatch, SCHEDULES)


@dataclass(frozen=True)
class Run:
    """What a run of kernels comes to, in seconds."""

    wall: Number
    busy: Number
    schedule: Schedule = field(default=Schedule("synchronous"), repr=False, compare=False)
    kernels: Sequence[Number] = field(default=(), repr=False, compare=False)

    @property
    def idle(self) -> Number:
        """Device time with nothing to do: launches that no kernel covers."""
        return self.wall - self.busy

    @property
    def utilization(self) -> Number:
        return ratio(self.busy, self.wall)

    @cached_property
    def starts(self) -> tuple[float, ...]:
        """When each op's kernels begin; for one size, not for a sweep. The last op ends at `wall`."""
        if self.schedule.dispatch == "replayed":
            return _replay_starts(self.schedule, self.kernels)
        return _scan_starts(self.schedule, self.kernels)

    @cached_property
    def leaning(self) -> tuple[float, float]:
        """The powers by which the wall time follows the device's time, and the host's: (1, 0) where the device is never idle."""
        schedule = self.schedule
        slow = replace(schedule, launches=[SWING * launch for launch in schedule.launches], start=SWING * schedule.start)
        device, host = simulate(schedule, [SWING * kernel for kernel in self.kernels]), simulate(slow, self.kernels)
        return tuple(math.log(float(run.wall) / float(self.wall)) / math.log(SWING) for run in (device, host))  # type: ignore[return-value]

    @cached_property
    def launching(self) -> tuple[tuple[float, float], ...]:
        """When the host launches, from and to: before each op, or once for a whole replay; for one size, not for a sweep."""
        schedule = self.schedule
        if schedule.dispatch == "replayed":
            return ((0.0, float(schedule.start)),)
        costs = [float(launch) for launch in schedule.launches]
        ends = [end for end, _ in _scan(schedule, self.kernels)] if schedule.dispatch == "queued" else self.starts
        return tuple((end - cost, end) for cost, end in zip(costs, ends, strict=True))


def simulate(schedule: Schedule, kernels: Sequence[Number]) -> Run:
    """Run kernels of so many seconds each as the schedule says."""
    if schedule.dispatch != "queued":
        waiting = schedule.start if schedule.dispatch == "replayed" else sum(schedule.launches)
        work: Number = sum(kernels)
        return Run(waiting + work + schedule.gap * sum(schedule.counts), work, schedule, kernels)
    if is_array(*schedule.launches, *kernels):
        return Run(*_queued_arrays(schedule, kernels), schedule, kernels)
    if schedule.sends:
        runs = [
            (start, float(kernel), sent) for (_, start), kernel, sent in zip(_scan(schedule, kernels), kernels, schedule.sends, strict=True)
        ]
        own = sum(kernel for _, kernel, sent in runs if not sent)
        return Run(max((start + kernel for start, kernel, _ in runs), default=0.0), own, schedule, kernels)
    host = device = busy = 0.0
    for launch, kernel, wait in zip(schedule.launches, kernels, schedule.waits or repeat(False, len(kernels)), strict=True):
        host += launch
        device = (host if host > device else device) + kernel
        busy += kernel
        if wait:
            host = device
    return Run(device, busy, schedule, kernels)


def beside(run: Run) -> tuple[float, float]:
    """Seconds that collectives take on the wires, and by how many the run would be shorter if they took none."""
    if not run.schedule.sends:
        return 0.0, 0.0
    free = [0.0 if sent else kernel for sent, kernel in zip(run.schedule.sends, run.kernels, strict=True)]
    taken = sum(float(kernel) for sent, kernel in zip(run.schedule.sends, run.kernels, strict=True) if sent)
    return taken, float(run.wall) - float(simulate(run.schedule, free).wall)


def synchronous(launches: Sequence[Number], kernels: Sequence[Number]) -> Run:
    return simulate(Schedule("synchronous", launches), kernels)


def queued(launches: Sequence[Number], kernels: Sequence[Number]) -> Run:
    return simulate(Schedule("queued", launches), kernels)


def graph_replay(launch: Number, kernels: Sequence[Number], counts: Sequence[Number], gap: Number = 0.0) -> Run:
    """One launch for all; `gap` between kernels, `counts[i]` kernels behind entry i."""
    return simulate(Schedule("replayed", start=launch, gap=gap, counts=counts), kernels)


def _queued_arrays(schedule: Schedule, kernels: Sequence[Number]) -> tuple[Number, Number]:
    """(wall, busy): the same scan over many points at once, in place."""
    import numpy as np

    launches = schedule.launches
    shape = np.broadcast_shapes(*{value.shape for value in (*launches, *kernels) if hasattr(value, "shape")})
    kernels = list(kernels)  # rows of one array become objects that stay the same
    alike = {id(kernel): kernel for kernel in kernels}  # a model repeats its layers: equal kernels are one array
    host: Number = 0.0
    device = np.zeros(shape)
    counts = dict.fromkeys(alike, 0)
    written = {key: points(kernel) for key, kernel in alike.items()}
    for launch, kernel, wait in zip(launches, kernels, schedule.waits or repeat(False, len(kernels)), strict=True):
        host = host + launch
        np.maximum(device, host, out=device)
        device += written[id(kernel)]
        counts[id(kernel)] += 1
        if wait:
            host = device.copy()
    return device, np.zeros(shape) + total(counts[key] * kernel for key, kernel in alike.items())


def _scan_starts(schedule: Schedule, kernels: Sequence[Number]) -> tuple[float, ...]:
    """A queued op starts when its launch is done and the device is free; a synchronous one when its own launch is done."""
    return tuple(start for _, start in _scan(schedule, kernels))


def _scan(schedule: Schedule, kernels: Sequence[Number]) -> Iterator[tuple[float, float]]:
    """For each op when its launch is done, and when its kernels begin."""
    if schedule.sends and schedule.dispatch == "queued":
        yield from _scan_both(schedule, kernels)
        return
    host = device = 0.0
    for launch, kernel, wait in zip(schedule.launches, kernels, schedule.waits or repeat(False, len(kernels)), strict=True):
        host = (host if schedule.dispatch == "queued" else device) + float(launch)
        start = max(host, device)
        yield host, start
        device = start + float(kernel)
        if wait:
            host = device


def _scan_both(schedule: Schedule, kernels: Sequence[Number]) -> Iterator[tuple[float, float]]:
    """The same with a second stream for what ranks do together: in order, beside the first, and waited for where an op says so."""
    host = device = wire = 0.0
    ends: dict[int, float] = {-1: 0.0}
    waits = schedule.waits or repeat(False, len(kernels))
    for i, (launch, kernel, wait) in enumerate(zip(schedule.launches, kernels, waits, strict=True)):
        host += float(launch)
        if sent := schedule.sends[i]:
            start = max(host, wire, device if sent > 1 else 0.0)
            wire = ends[i] = start + float(kernel)
        else:
            start = max(host, device, ends[schedule.joins[i]])
            device = start + float(kernel)
        yield host, start
        if wait:
            host = device


def _replay_starts(schedule: Schedule, kernels: Sequence[Number]) -> tuple[float, ...]:
    """All wait for the one launch, and a small gap lies before each kernel."""
    starts = []
    device = float(schedule.start)
    for count, kernel in zip(schedule.counts, kernels, strict=True):
        starts.append(device + float(schedule.gap) * float(count))
        device = starts[-1] + float(kernel)
    return tuple(starts)


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
