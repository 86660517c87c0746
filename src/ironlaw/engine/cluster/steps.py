"""The time of one training step of a layout, term by term. What a device computes comes from a prediction of its ops.

A step is m microbatches through the busiest stage, the bubble of filling and draining the pipeline, the part of the gradients' sum that
the passes beside it do not hide, and the optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ironlaw.engine.cluster.layouts import Layout, check, micro_batches, stage_layers
from ironlaw.engine.cluster.library import pace
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.offloads import Host, waited
from ironlaw.engine.cluster.overlaps import call_seconds, exposed
from ironlaw.engine.cluster.shapes import Shape, hfu, mfu
from ironlaw.engine.cluster.stacks import SEEN, Overlap
from ironlaw.engine.cluster.volumes import calls, hop_bytes, pipeline_bytes

KINDS = ("tensor", "context", "expert")  # of collectives that the passes wait for


@dataclass(frozen=True, slots=True)
class Compute:
    """Seconds on one device: a layer of one microbatch forward, backward and recomputed; the head's; the optimiser's step."""

    forward: float
    backward: float
    again: float
    head: float
    update: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of one step on the busiest device, by what it does."""

    compute: float
    recompute: float
    tensor: float
    context: float
    expert: float
    pipeline: float
    bubble: float
    data: float
    update: float
    offload: float = 0.0  # copies to and from the host, and the update there

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def step_time(
    shape: Shape, layout: Layout, box: Box, batch: int, seq: int, compute: Compute, overlap: bool = True, seen: Overlap = SEEN,
    host: Host | None = None,
) -> StepTime:  # fmt: skip
    """`overlap`: gradients are summed up and weights gathered beside the passes. `seen`: what a stack leaves to see of the rest. `host`:
    what holds a layout's offloaded parts."""
    check(shape, layout, batch, seq)
    count, layers = micro_batches(layout, batch), stage_layers(shape, layout)
    groups = calls(shape, layout, seq, count, box.devices)
    spent = {kind: sum(getattr(seen, kind) * call_seconds(box, call) for call in groups.get(kind, ())) for kind in KINDS}
    most = max(layers)
    once, again = most * (compute.forward + compute.backward), most * compute.again
    head = max(0.0, compute.head - (most - layers[-1]) * (compute.forward + compute.backward + compute.again))
    hops = seen.pipeline * _hops(shape, layout, box, seq, count)
    slot = once + again + (sum(spent.values()) + hops) / count
    ahead, back = most * compute.forward, most * (compute.backward + compute.again)
    data = exposed(box, groups.get("data", ()), ahead, back, overlap, seen.beside)
    moved = waited(shape, layout, count, host, ahead, back) if host and layout.offload else 0.0
    return StepTime(
        count * (once + head), count * again, spent["tensor"], spent["context"], spent["expert"], hops,
        (layout.pipeline - 1) / layout.virtual * slot, data, compute.update, moved,
    )  # fmt: skip


def _hops(shape: Shape, layout: Layout, box: Box, seq: int, count: int) -> float:
    """Sends between stages: neighbours are a whole group of devices apart, so most often in another box."""
    if layout.pipeline == 1:
        return 0.0
    start, rate = _next_stage(layout, box)
    messages = pipeline_bytes(shape, layout, seq, count) / hop_bytes(shape, layout, seq)
    return float(messages * (start + hop_bytes(shape, layout, seq) / rate))


def _next_stage(layout: Layout, box: Box) -> tuple[float, float]:
    """(start, bytes per second) of the slowest hop: over a port as soon as one stage is in another box."""
    if layout.devices > box.devices:
        return pace(box, 2, 1)
    return box.start, box.edge(0, layout.tensor * layout.context * layout.data)[1].achieved


@dataclass(frozen=True, slots=True)
class Speed:
    """A step's tokens per second, and the shares of the devices' peak: by the model's FLOPs, and by all that are done."""

    tokens_per_s: float
    mfu: float
    hfu: float


def speed(shape: Shape, layout: Layout, batch: int, seq: int, seconds: float, peak: float) -> Speed:
    tokens = batch * seq
    return Speed(
        tokens / seconds, float(mfu(shape, tokens, seq, seconds, layout.devices, peak)),
        float(hfu(shape, tokens, seq, seconds, layout.devices, peak, layout.recompute)),
    )  # fmt: skip
