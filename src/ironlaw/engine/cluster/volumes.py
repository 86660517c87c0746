"""Bytes that each kind of parallelism puts on a device's wires in one step, and the collectives that carry them.

Tensor: two all-reduces of b·s·h a layer and pass (an all-gather and a reduce-scatter each, with sequence parallelism). Pipeline: an
activation on, its gradient back. Context: keys and values of all. Experts: tokens out and back. Data: a gradient in, a weight out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ironlaw.engine.arrays import Number
from ironlaw.engine.cluster.collectives import bus_factor
from ironlaw.engine.cluster.footprint import WEIGHT, expert_parameters, stage_parameters
from ironlaw.engine.cluster.layouts import Layout, stage_layers
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.device.types import bytes_per_element

ACTIVATION = 2.0  # bytes of one number that is sent
REPEATED = {"full": 1.0, "layers": 0.5, "ops": 0.5}  # of a pass ahead, its collectives among it


@dataclass(frozen=True, slots=True)
class Call:
    """One collective: its kind, ranks, how many of them share a box, message bytes, and how often it is made in a step."""

    kind: str
    ranks: int
    per_box: int
    size: Number
    count: float

    @property
    def wire_bytes(self) -> Number:
        """Bytes that one device sends in a step."""
        return self.count * self.size * (bus_factor(self.kind, self.ranks) if self.ranks > 1 else 0.0)


def tensor_bytes(layers: Number, hidden: Number, seq: Number, micro: Number, ranks: Number, dtype: str = "bf16") -> Number:
    """What each of `ranks` devices sends of one microbatch: four all-reduces of b·s·h per layer, two per pass. Alone it sends nothing."""
    return 4.0 * layers * bus_factor("all_reduce", ranks) * micro * seq * hidden * bytes_per_element(dtype)


def traffic(shape: Shape, layout: Layout, seq: int, micro_batches: int, box_devices: int) -> dict[str, float]:
    """Bytes that a device of the busiest stage sends in a step, by parallelism."""
    groups = calls(shape, layout, seq, micro_batches, box_devices)
    sent = {kind: float(sum(call.wire_bytes for call in group)) for kind, group in groups.items()}
    if layout.pipeline > 1:
        sent["pipeline"] = float(pipeline_bytes(shape, layout, seq, micro_batches))
    return sent


def calls(shape: Shape, layout: Layout, seq: int, micro_batches: int, box_devices: int) -> dict[str, tuple[Call, ...]]:
    """The collectives of the busiest stage in one step, by parallelism; the pipeline's sends are not collectives."""
    layers = max(stage_layers(shape, layout)) * micro_batches
    passes = 2.0 + REPEATED.get(layout.recompute, 0.0)
    rows = seq / layout.context * layout.micro
    activation = rows * shape.hidden * ACTIVATION
    groups: dict[str, tuple[Call, ...]] = {}
    if layout.tensor > 1:
        inside = layout.tensor if layout.devices <= box_devices else gcd(layout.tensor, box_devices)  # a group may lie across boxes
        kinds = ("all_gather", "reduce_scatter") if layout.sequence_parallel else ("all_reduce",)
        groups["tensor"] = tuple(Call(kind, layout.tensor, inside, activation, 2 * passes * layers) for kind in kinds)
    if layout.context > 1:
        keys = layout.micro * seq * 2 * shape.kv_width / min(layout.tensor, shape.kv_heads) * ACTIVATION
        near = _near(layout.context, layout.tensor, box_devices)
        groups["context"] = (
            Call("all_gather", layout.context, near, keys, passes * layers), Call("reduce_scatter", layout.context, near, keys, layers),
        )  # fmt: skip
    if layout.expert > 1:
        sent = activation * shape.top_k / (layout.tensor if layout.sequence_parallel else 1)
        near = _near(layout.expert, layout.tensor, box_devices)
        groups["expert"] = (Call("all_to_all", layout.expert, near, sent, 2 * passes * layers),)
    if layout.replicas > 1:
        groups["data"] = _data(shape, layout, micro_batches, box_devices)
    return groups


def _data(shape: Shape, layout: Layout, micro_batches: int, box_devices: int) -> tuple[Call, ...]:
    """The gradients of the heavier end of the pipeline; experts' matrices over the replicas that hold the same ones."""
    stage = max((0, layout.pipeline - 1), key=lambda stage: float(stage_parameters(shape, layout, stage)))
    experts = expert_parameters(shape, layout, stage)
    shared = _sums(layout, stage_parameters(shape, layout, stage) - experts, layout.sharing, layout.tensor, micro_batches, box_devices)
    alike = layout.sharing // layout.expert
    if not experts or alike == 1:
        return shared
    return (*shared, *_sums(layout, experts, alike, layout.tensor * layout.expert, micro_batches, box_devices))


def _sums(layout: Layout, parameters: Number, ranks: int, stride: int, micro_batches: int, box_devices: int) -> tuple[Call, ...]:
    """Gradients are summed up once, from ZeRO-2 on for each visit of a piece; ZeRO-3 gathers the weights for each pass, others once. A pass
    that is computed again finds them gathered. Copies of what is sharded sum up their shards of it."""
    near, times = _near(ranks, stride, box_devices), visits(layout, micro_batches)
    if layout.zero == 0:
        return (Call("all_reduce", ranks, near, layout.gradient_bytes * parameters, 1.0),)
    gathers = 2.0 * times if layout.zero == 3 else 1.0
    sums = times if layout.zero >= 2 else 1.0
    made = (
        Call("reduce_scatter", ranks, near, layout.gradient_bytes * parameters, sums),
        Call("all_gather", ranks, near, WEIGHT * parameters, gathers),
    )  # fmt: skip
    if layout.replicate == 1:
        return made
    apart = _near(layout.replicate, stride * ranks, box_devices)
    return (*made, Call("all_reduce", layout.replicate, apart, layout.gradient_bytes * parameters / ranks, sums))


def visits(layout: Layout, micro_batches: int) -> float:
    """How often a device takes up the same layers: for each microbatch; in pieces, for as many in a row as there are stages."""
    return micro_batches / layout.pipeline if layout.virtual > 1 else float(micro_batches)


def _near(ranks: int, stride: int, box_devices: int) -> int:
    """Ranks of a group in one box, when neighbours in it are `stride` devices apart."""
    return max(1, min(ranks, box_devices // stride))


def hop_bytes(shape: Shape, layout: Layout, seq: int) -> Number:
    """What one stage hands the next of one microbatch; each device sends its share, also without sequence parallelism."""
    return seq / layout.context * layout.micro * shape.hidden * ACTIVATION / layout.tensor


def pipeline_bytes(shape: Shape, layout: Layout, seq: int, micro_batches: int) -> Number:
    """Sent by a device in one step: activations on, gradients back, for each piece of a stage."""
    return 2.0 * layout.virtual * micro_batches * hop_bytes(shape, layout, seq) if layout.pipeline > 1 else 0.0
