"""Optimiser state, gradients and weights in the host's memory (ZeRO-Offload, FSDP's CPUOffloadPolicy, Megatron's CPU optimiser).

What lies there is no longer on the device. In return every step copies gradients down and weights up over the link to the host, and the
processors update the weights at the pace of their own memory, which the devices of a box share.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.cluster.footprint import STATE, WEIGHT, updated_parameters
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.overlaps import left
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.volumes import visits

MASTER = 4.0  # bytes of a weight in the host's memory, and over the link where the host sends its own copy
# Of the host's rated bandwidth, what an update reaches. Fitted to one run: 72B parameters on four boxes of eight A100s, about 10 s per
# update (deepspeedai/DeepSpeed issue 6834), 51 of about 410 GB/s. One thread per process, which is torchrun's default, does as much.
REACHED = 0.125


@dataclass(frozen=True, slots=True)
class Host:
    """A device's share of its host: bytes per second of copies in one direction, and of the host's memory; bytes that it holds."""

    link: float
    memory: float
    holds: float


@dataclass(frozen=True, slots=True)
class Copies:
    """Seconds of a step: gradients down, the update on the host, weights up."""

    down: float
    update: float
    up: float


def host_bytes(shape: Shape, layout: Layout) -> Number:
    """What a device leaves in its host's memory: state and master copy, gradients, weights that are sent up."""
    mine = max(updated_parameters(shape, layout, stage) for stage in {0, layout.pipeline - 1})
    return mine * (STATE + layout.gradient_bytes)  # the copy that goes up is the master copy, or made from it on the way


def copies(shape: Shape, layout: Layout, micro_batches: int, host: Host) -> Copies:
    """FSDP sends its shards up before each gather, in FP32, and each sum of gradients down; others do both once."""
    mine = float(max(updated_parameters(shape, layout, stage) for stage in {0, layout.pipeline - 1}))
    sums = gathers = 1.0
    sent = WEIGHT
    if "weights" in layout.offload:
        times, sent = visits(layout, micro_batches), MASTER
        sums, gathers = times, 2.0 * times if layout.zero == 3 else 1.0
    touched = 2.0 * STATE + layout.gradient_bytes + (WEIGHT if sent == WEIGHT else 0.0)  # read and written; gradients read; a copy written
    link = min(host.link, host.memory)
    return Copies(sums * layout.gradient_bytes * mine / link, touched * mine / (REACHED * host.memory), gathers * sent * mine / link)


def waited(shape: Shape, layout: Layout, micro_batches: int, host: Host, ahead: float, back: float) -> float:
    """Seconds of a step that nothing hides, where a microbatch takes `ahead` forward and `back` backward.

    With the weights on the host, gradients go down beside the pass that makes them, and weights come up beside the passes that gather
    them. Where only the optimiser is there, copies and update run beside each other after the last pass, so the longest of them counts.
    """
    took = copies(shape, layout, micro_batches, host)
    if "weights" not in layout.offload:
        return max(took.down, took.update, took.up)
    times = visits(layout, micro_batches)
    if layout.zero == 3:
        half, each = took.up / times / 2.0, took.down / times
        return took.update + times * (left(half, ahead) + left(max(half, each), back))  # the link has two directions
    return took.update + left(took.up, ahead) + times * left(took.down / times, back)
