"""What one device of a layout computes in a step, predicted op by op on its machine."""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw.engine.cluster.footprint import stage_parameters, updated_parameters
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.steps import Compute
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.systems.faster_machine import faster
from ironlaw.systems.training import block_shards, shards

BUSY = Plan(launch=0.0)  # kernels of a large layer hide their launches
LONG = 0.15  # seconds of steady work after which a clock has fallen as far as it does


def compute(
    shape: Shape, layout: Layout, seq: int, machine: str, dtype: str = "bf16", *, flops: float = 1.0, bandwidth: float = 1.0
) -> Compute:
    """Seconds of a layer's passes, of the head and of the optimiser, on a machine of the registry; `flops`, `bandwidth`: so many times
    as fast as it is."""
    rates = flops, bandwidth
    ahead, back, scores, head = _layer(
        shape, layout.tensor, layout.context, layout.expert, layout.micro, layout.sequence_parallel, seq, machine, dtype, rates
    )
    again = {"none": 0.0, "selective": scores, "full": ahead}[layout.recompute]
    ends = (0, layout.pipeline - 1)
    held = max(stage_parameters(shape, layout, stage) for stage in ends)
    mine = max(updated_parameters(shape, layout, stage) for stage in ends)
    return Compute(ahead, back, again, head, _update(mine, held, layout.gradient_bytes, machine, rates))


@lru_cache(maxsize=512)
def _update(mine: float, held: float, gradient_bytes: float, machine: str, rates: tuple[float, float]) -> float:
    """The optimiser streams: no clock falls."""
    return float(predict(shards.update(mine, held, gradient_bytes), faster(machine, *rates), BUSY).busy_s)


@lru_cache(maxsize=512)
def _layer(
    shape: Shape,
    tensor: int,
    context: int,
    expert: int,
    micro: int,
    split: bool,
    seq: int,
    machine: str,
    dtype: str,
    rates: tuple[float, float],
) -> tuple[float, float, float, float]:
    """Forward, backward, the part that selective recomputation repeats, head: they do not depend on the rest of a layout."""
    part = Layout(tensor=tensor, context=context, expert=expert, micro=micro, sequence_parallel=split)
    device = faster(machine, *rates)
    if shape.blocks:
        return _blocks(shape, part, seq, device, dtype)
    graphs = (shards.forward, shards.backward, shards.attention_only, shards.head)
    ahead, back, scores, head = (_busy(graph(shape, part, seq, dtype), device) for graph in graphs)
    return ahead, back, scores, head


def _blocks(shape: Shape, part: Layout, seq: int, device: Hardware, dtype: str) -> tuple[float, float, float, float]:
    """The mean layer of a decoder whose blocks differ."""
    ahead = back = 0.0
    for block, count in shape.blocks.kinds if shape.blocks else ():
        ahead += count * _busy(block_shards.forward(shape, block, part, seq, dtype), device) / shape.layers
        back += count * _busy(block_shards.backward(shape, block, part, seq, dtype), device) / shape.layers
    return ahead, back, 0.0, _busy(shards.head(shape, part, seq, dtype), device)


def _busy(graph: Graph | None, machine: Hardware) -> float:
    """Seconds of the graph in a step that lasts: its kernels, as much longer as the clock falls under steady load."""
    if graph is None:
        return 0.0
    return float(predict(graph, machine, BUSY).busy_s) * steady(graph, machine)


def steady(graph: Graph, machine: Hardware) -> float:
    """How much longer a graph takes among as many copies of it as last LONG, than alone; 1 where no fall of the clock is known."""
    model = machine.model(BUSY)
    if model is None:
        return 1.0
    costs = [model.cost(op, machine, BUSY) for op in graph.ops]
    alone = sum(float(cost.device) for cost in model.sustain(costs))
    lasting = model.sustain(costs * math.ceil(LONG / alone))[: len(costs)]
    return sum(float(cost.device) for cost in lasting) / alone
