"""What one device of a layout computes in a step, predicted op by op on its machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.cluster.footprint import stage_parameters, updated_parameters
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import FUSED, Pace
from ironlaw.engine.cluster.steps import Compute
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Op
from ironlaw.systems.faster_machine import faster
from ironlaw.systems.training import block_shards, shards
from ironlaw.systems.training.narrow_shards import EIGHT, narrowed
from ironlaw.systems.training.power_limits import held_back

BUSY = Plan(launch=0.0)  # kernels of a large layer hide their launches
LONG = 0.15  # seconds of steady work after which a clock has fallen as far as it does
SCORES = ("attention", "attention_backward")


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of a graph by what runs: products, those in eight bits, scores (and their FLOPs), the rest."""

    products: float = 0.0
    eight: float = 0.0
    scores: float = 0.0
    score_flops: float = 0.0
    rest: float = 0.0

    def at(self, pace: Pace, rate: float) -> float:
        """Seconds at a stack's pace. `rate`: clocks in a second of all multiprocessors together; 0 where they are not NVIDIA's."""
        scores = max(self.scores, self.score_flops / (pace.scores * rate)) if pace.scores and rate else self.scores
        return pace.work * self.products + pace.eight * self.eight + scores + self.rest


def compute(
    shape: Shape, layout: Layout, seq: int, machine: str, dtype: str = "bf16", *, flops: float = 1.0, bandwidth: float = 1.0,
    products: str = "", pace: Pace = FUSED,
) -> Compute:  # fmt: skip
    """Seconds of a layer's passes, of the head and of the optimiser, on a machine of the registry; `flops`, `bandwidth`: so many times
    as fast as it is. `products`: the format of the layers' products, where it is another; `pace`: a stack's, beside fused kernels."""
    rates = flops, bandwidth
    device = faster(machine, *rates)
    parts = _layer(
        shape, layout.tensor, layout.context, layout.expert, layout.micro, layout.sequence_parallel, seq, machine, dtype, rates, products
    )
    clocks = device.units.get("sms", 0.0) * device.units.get("clock", 0.0)
    ahead, back, scores, head, half = (part.at(pace, clocks) for part in parts)
    more = pace.traffic * layout.micro * seq / layout.context / layout.tensor * shape.hidden / float(device.bandwidth)
    ahead, back, half = ahead + more / 3.0, back + 2.0 * more / 3.0, half + more / 3.0
    again = {"none": 0.0, "selective": scores, "ops": half, "layers": ahead / 2.0, "full": ahead}[layout.recompute]
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
    products: str,
) -> tuple[Work, ...]:
    """Forward, backward, the part that selective recomputation repeats, head, what runs again where every second product is kept: they do
    not depend on the rest of a layout."""
    part = Layout(tensor=tensor, context=context, expert=expert, micro=micro, sequence_parallel=split)
    device = faster(machine, *rates)
    if shape.blocks:
        return _blocks(shape, part, seq, device, dtype, products)
    graphs = (shards.forward, shards.backward, shards.attention_only, shards.head, shards.every_second)
    return tuple(_work(graph(shape, part, seq, dtype), device, products) for graph in graphs)


def _blocks(shape: Shape, part: Layout, seq: int, device: Hardware, dtype: str, products: str) -> tuple[Work, ...]:
    """The mean layer of a decoder whose blocks differ; every second product is taken for half of it."""
    ahead = back = Work()
    for block, count in shape.blocks.kinds if shape.blocks else ():
        share = count / shape.layers
        ahead = _and(ahead, _work(block_shards.forward(shape, block, part, seq, dtype), device, products), share)
        back = _and(back, _work(block_shards.backward(shape, block, part, seq, dtype), device, products), share)
    return ahead, back, Work(), _work(shards.head(shape, part, seq, dtype), device, products), _and(Work(), ahead, 0.5)


def _and(one: Work, more: Work, times: float) -> Work:
    return Work(*(getattr(one, name) + times * getattr(more, name) for name in Work.__slots__))


def _work(graph: Graph | None, machine: Hardware, products: str) -> Work:
    """Seconds of the graph in a step that lasts: its kernels, as much longer as the clock falls under steady load."""
    if graph is None:
        return Work()
    run = narrowed(graph, products)
    seconds = dict.fromkeys(("products", "eight", "scores", "rest"), 0.0)
    longer, limit, flops = steady(run, machine), held_back(machine), 0.0
    for op, took in _each(run, machine):
        kind = _kind(op)
        seconds[kind] += took * longer * (limit if kind != "rest" else 1.0)
        flops += op.work.matmul_flops * (0.5 if op.attrs.get("causal") else 1.0) if kind == "scores" else 0.0
    return Work(score_flops=float(flops), **seconds)


def _kind(op: Op) -> str:
    if op.kind in SCORES:
        return "scores"
    if op.name.endswith(EIGHT) or op.dtype in ("fp8", "int8"):
        return "eight"
    return "products" if op.work.matmul_flops else "rest"


def _each(graph: Graph, machine: Hardware) -> list[tuple[Op, float]]:
    """Ops with their shares of the graph's time."""
    whole = float(predict(graph, machine, BUSY).busy_s)
    model = machine.model(BUSY)
    weights = [float(model.cost(op, machine, BUSY).device) for op in graph.ops] if model else [1.0] * len(graph.ops)
    total = sum(weights) or 1.0
    return [(op, whole * weight / total) for op, weight in zip(graph.ops, weights, strict=True)]


def steady(graph: Graph, machine: Hardware) -> float:
    """How much longer a graph takes among as many copies of it as last LONG, than alone; 1 where no fall of the clock is known."""
    model = machine.model(BUSY)
    if model is None:
        return 1.0
    costs = [model.cost(op, machine, BUSY) for op in graph.ops]
    alone = sum(float(cost.device) for cost in model.sustain(costs))
    lasting = model.sustain(costs * math.ceil(LONG / alone))[: len(costs)]
    return sum(float(cost.device) for cost in lasting) / alone
