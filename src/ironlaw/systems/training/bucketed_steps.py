"""A training step whose gradients are summed up in buckets beside the backward pass, by one algorithm on wires of α and β.

Arithmetic is predicted op by op on the box's machine; α and β are those of the network, nodes have the box's own links inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw.engine.cluster.buckets import Queue
from ironlaw.engine.cluster.collectives import BEST, Terms, time
from ironlaw.engine.cluster.footprint import Parts, memory, stage_parameters
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.steps import StepTime, step_time
from ironlaw.errors import unknown
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.registry.publications import published
from ironlaw.systems.training.shard_times import compute

TUNER = "tuner"  # whatever is fastest for the bucket
SUMS = ("ring", "two_level", "double_tree", "rabenseifner")  # of an all-reduce between devices
ALPHA = 5e-6  # seconds per step of the network, where none is given


@dataclass(frozen=True)
class Wires:
    """The wires of a job: between nodes α seconds per step and β bytes per second of each device; inside them the links of a box."""

    alpha: float
    beta: float
    per_node: int = 1
    alpha_inner: float = 0.0
    beta_inner: float = 0.0

    def terms(self, algorithm: str, ranks: int, size: float) -> Terms:
        """Seconds of one sum; a double tree in pieces of the best size."""
        if algorithm == TUNER:
            return self.terms(self.fastest(ranks, size), ranks, size)
        if algorithm not in SUMS:
            raise unknown("algorithm of a sum", algorithm, (*SUMS, TUNER), field="algorithm")
        per_node = math.gcd(self.per_node, ranks)
        return time(
            "all_reduce", algorithm, ranks, size, self.alpha, self.beta, per_node, self.beta_inner or self.beta,
            self.alpha_inner or self.alpha, BEST,
        )  # fmt: skip

    def fastest(self, ranks: int, size: float) -> str:
        able = [name for name in SUMS if name != "rabenseifner" or not ranks & (ranks - 1)]
        return min(able, key=lambda name: float(self.terms(name, ranks, size).total))


@dataclass(frozen=True)
class BucketedStep:
    """One microbatch a replica; `step` has what the backward pass does not hide of the sum."""

    layout: Layout
    box: Box
    algorithm: str
    wires: Wires
    queue: Queue
    step: StepTime
    memory: Parts
    usable: float

    @property
    def latency_share(self) -> float:
        """The share of communication that is latency rather than bytes."""
        queue, rest = self.queue, self.queue.gradients - (self.queue.count - 1) * self.queue.full
        each, last = (float(self.wires.terms(self.algorithm, self.layout.data, size).latency) for size in (queue.full, rest))
        return ((queue.count - 1) * each + last) / queue.seconds if queue.seconds else 0.0

    @property
    def exposed_share(self) -> float:
        return self.queue.exposed / self.step.total

    @property
    def free(self) -> float:
        """Bytes of the fullest device beside what training keeps; below 0 where it does not fit."""
        return self.usable - float(self.memory.total)


@lru_cache(maxsize=256)
def network(at: str | Box = "dgx_h100", tensor: int = 1, alpha: float = ALPHA, beta: float | None = None) -> Wires:
    """A port for each device of a box, and its links inside; NCCL's own α there."""
    one = box(at) if isinstance(at, str) else at
    inner = published("nccl_tuning").value("step", wire="nvlink", algorithm="ring", protocol="Simple")
    port = one.nic.per_direction if one.nic else 0.0
    return Wires(alpha, beta or port, max(1, one.devices // tensor), inner, one.bus or (one.link.achieved if one.link else 0.0))


def bucketed_step(
    model: str, devices: int, *, at: str | Box = "dgx_h100", tensor: int = 1, seq: int = 8192, micro: int = 1, zero: int = 1,
    gradient_bytes: float = 2.0, bucket: float = 25e6, algorithm: str = "ring", alpha: float = ALPHA, beta: float | None = None,
    as_made: bool = True,
) -> BucketedStep:  # fmt: skip
    """`bucketed_step("llama3_8b", 512, algorithm="double_tree")`: tensor groups inside boxes, sums between the replicas."""
    one = box(at) if isinstance(at, str) else at
    layout, gradients, backward, rest, parts = _passes(model, one, devices // tensor, tensor, seq, micro, zero, gradient_bytes)
    wires = network(one, tensor, alpha, beta)
    queue = Queue(gradients, bucket, backward, lambda size: float(wires.terms(algorithm, layout.data, size).total), as_made)
    return BucketedStep(
        layout, one, algorithm, wires, queue, replace(rest, data=queue.exposed), parts, float(hardware(one.device).usable)
    )  # fmt: skip


@lru_cache(maxsize=512)
def _passes(
    model: str, at: Box, data: int, tensor: int, seq: int, micro: int, zero: int, gradient_bytes: float
) -> tuple[Layout, float, float, StepTime, Parts]:  # fmt: skip
    """(layout, bytes of gradients of a device, seconds of its backward pass, the step without its sum, what a device holds)."""
    shape = decoder(model)
    layout = Layout(tensor=tensor, data=data, micro=micro, zero=zero, gradient_bytes=gradient_bytes)
    work = compute(shape, layout, seq, at.device)
    rest = replace(step_time(shape, layout, at, data * micro, seq, work), data=0.0)
    gradients = gradient_bytes * float(stage_parameters(shape, layout, 0))
    return layout, gradients, shape.layers * work.backward, rest, memory(shape, layout, seq, 1)
