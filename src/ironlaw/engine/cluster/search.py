"""Layouts ranked by the time of a step: those that divide and fit, and what rules out the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ironlaw.engine.cluster.footprint import Parts, memory
from ironlaw.engine.cluster.layouts import Layout, layouts, micro_batches
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.offloads import Host, host_bytes
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import SEEN, Overlap
from ironlaw.engine.cluster.steps import Compute, Speed, StepTime, speed, step_time
from ironlaw.engine.cluster.volumes import traffic
from ironlaw.engine.cluster.working_memory import Working
from ironlaw.errors import BadValue
from ironlaw.units import show


@dataclass(frozen=True, slots=True)
class Job:
    """What is trained and on what: sequences of `seq` tokens per step; bytes that a device can hold, and its peak rate."""

    shape: Shape
    box: Box
    batch: int
    seq: int
    capacity: float
    peak: float
    overlap: bool = True
    seen: Overlap = SEEN
    working: Working | None = None  # what comes and goes in a step takes room, too
    host: Host | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    layout: Layout
    time: StepTime
    memory: Parts
    speed: Speed
    micro_batches: int
    traffic: dict[str, float]  # bytes that a device sends in a step, by parallelism


Predictor = Callable[[Layout], Compute]


def judge(job: Job, layout: Layout, compute: Predictor) -> Candidate:
    """One layout's step, memory and traffic; what does not divide is refused."""
    count = micro_batches(layout, job.batch)
    time = step_time(job.shape, layout, job.box, job.batch, job.seq, compute(layout), job.overlap, job.seen, job.host)
    sent = traffic(job.shape, layout, job.seq, count, job.box.devices)
    held = held_bytes(job, layout)
    return Candidate(layout, time, held, speed(job.shape, layout, job.batch, job.seq, time.total, job.peak), count, sent)


def held_bytes(job: Job, layout: Layout) -> Parts:
    """The fullest device, at the peak of a step where the job says what that adds."""
    count = micro_batches(layout, job.batch)
    return job.working.peak(job.shape, layout, job.seq, count) if job.working else memory(job.shape, layout, job.seq, count)


def fits(job: Job, layout: Layout) -> bool:
    """Whether the fullest device holds it, and its host what is left there."""
    there = host_bytes(job.shape, layout) <= job.host.holds if job.host and layout.offload else not layout.offload
    return bool(there and held_bytes(job, layout).total <= job.capacity)


def rank(job: Job, devices: int, compute: Predictor, **choices: tuple[object, ...]) -> list[Candidate]:
    """Layouts that divide and fit, the fastest first."""
    candidates = list(layouts(job.shape, devices, job.batch, job.seq, job.box.devices, **choices))
    if not candidates:
        raise BadValue(_indivisible(job, devices), "devices")
    fitting = [one for one in candidates if fits(job, one)]
    if not fitting:
        raise BadValue(_too_large(job, devices, candidates), "devices")
    held = set(fitting)  # ZeRO-2 sends more than ZeRO-1 and saves nothing that is needed where that fits
    wanted = [one for one in fitting if one.zero != 2 or replace(one, zero=1) not in held]
    return sorted((judge(job, one, compute) for one in wanted), key=lambda one: one.time.total)


def _indivisible(job: Job, devices: int) -> str:
    return (
        f"no layout of {devices:,} devices divides {job.shape.name} ({job.shape.layers} layers, {job.shape.heads} heads) and {job.batch:,}"
        f" sequences; try a number of devices with small factors, such as {_round(devices):,}, or another batch"
    )


def _round(devices: int) -> int:
    return 1 << max(0, devices.bit_length() - 1)


def _too_large(job: Job, devices: int, candidates: Iterable[Layout]) -> str:
    least = min((held_bytes(job, one).total, str(one)) for one in candidates)
    return (
        f"no layout of {devices:,} devices holds {job.shape.name}: the smallest, {least[1]}, needs {show(float(least[0]), 'B')} a device,"
        f" which has {show(job.capacity, 'B')}; give more devices, shorter sequences, or a box whose devices hold more"
    )
