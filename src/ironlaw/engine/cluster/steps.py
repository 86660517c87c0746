"""The time of one training step of a layout, term by term. What a device computes comes from a prediction of its ops.

A step is m micro-batches through the busiest stage, the bubble of filling and draining the pipeline, the part of the gradients' sum that
the last backward pass does not hide, and the optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ironlaw.engine.cluster.layouts import Layout, check, micro_batches, stage_layers
from ironlaw.engine.cluster.library import collective, pace
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.shapes import Shape, hfu, mfu
from ironlaw.engine.cluster.volumes import Call, calls, hop_bytes, pipeline_bytes


@dataclass(frozen=True, slots=True)
class Compute:
    """Seconds on one device: a layer of one micro-batch forward, backward and recomputed; the head's; the optimiser's step."""

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

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def step_time(shape: Shape, layout: Layout, box: Box, batch: int, seq: int, compute: Compute, overlap: bool = True) -> StepTime:
    """`overlap`: gradients are summed up while the last micro-batch goes backward, weights gathered while the first goes forward."""
    check(shape, layout, batch, seq)
    count, layers = micro_batches(layout, batch), stage_layers(shape, layout)
    made = calls(shape, layout, seq, count, box.devices)
    spent = {kind: sum(_seconds(box, call) for call in made.get(kind, ())) for kind in ("tensor", "context", "expert")}
    most = max(layers)
    once, again = most * (compute.forward + compute.backward), most * compute.again
    head = max(0.0, compute.head - (most - layers[-1]) * (compute.forward + compute.backward + compute.again))
    hops = _hops(shape, layout, box, seq, count)
    slot = once + again + (sum(spent.values()) + hops) / count
    data = _exposed(box, made.get("data", ()), most, compute, overlap)
    return StepTime(
        count * (once + head), count * again, spent["tensor"], spent["context"], spent["expert"], hops,
        (layout.pipeline - 1) / layout.virtual * slot, data, compute.update,
    )  # fmt: skip


def _seconds(box: Box, call: Call) -> float:
    return call.count * float(collective(box, call.kind, call.ranks, call.size, call.per_box))


def _hops(shape: Shape, layout: Layout, box: Box, seq: int, count: int) -> float:
    """Sends between stages: neighbours are a whole group of devices apart, so most often in another box."""
    if layout.pipeline == 1:
        return 0.0
    start, rate = _next_stage(layout, box)
    messages = pipeline_bytes(shape, layout, seq, count) / hop_bytes(shape, layout, seq)
    return float(messages * (start + hop_bytes(shape, layout, seq) / rate))


def _next_stage(layout: Layout, box: Box) -> tuple[float, float]:
    """(start, bytes a second) of the slowest hop: over a port as soon as one stage is in another box."""
    if layout.devices > box.devices:
        return pace(box, 2, 1)
    return box.start, box.edge(0, layout.tensor * layout.context * layout.data)[1].achieved


def _exposed(box: Box, made: tuple[Call, ...], layers: int, compute: Compute, overlap: bool) -> float:
    """What is left of summing up gradients and gathering weights after the passes that run beside them.

    Sums go with the backward pass. Weights are gathered with the forward pass; ZeRO-3 gathers them again for each pass backward.
    """
    if not overlap:
        return sum(_seconds(box, call) for call in made)
    counts = {call.kind: call.count for call in made}
    each = {kind: sum(_seconds(box, call) for call in made if call.kind == kind) / count for kind, count in counts.items()}
    ahead, back = layers * compute.forward, layers * (compute.backward + compute.again)
    if "all_gather" not in each:
        return max(0.0, each.get("all_reduce", 0.0) - back)
    sums, gathers = counts["reduce_scatter"], counts["all_gather"]
    again = gathers / sums - 1.0 if gathers > sums else 0.0  # gathers beside each sum
    first = min(sums, gathers) if again else 1.0
    return first * max(0.0, each["all_gather"] - ahead) + sums * max(0.0, each["reduce_scatter"] + again * each["all_gather"] - back)


@dataclass(frozen=True, slots=True)
class Speed:
    """A step's tokens a second, and the shares of the devices' peak: by the model's FLOPs, and by all that are done."""

    tokens_per_s: float
    mfu: float
    hfu: float


def speed(shape: Shape, layout: Layout, batch: int, seq: int, seconds: float, peak: float) -> Speed:
    tokens = batch * seq
    return Speed(
        tokens / seconds, float(mfu(shape, tokens, seq, seconds, layout.devices, peak)),
        float(hfu(shape, tokens, seq, seconds, layout.devices, peak, layout.recompute)),
    )  # fmt: skip
