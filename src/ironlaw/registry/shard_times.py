"""What one device of a layout computes in a step, predicted op by op on its machine."""

from __future__ import annotations

from functools import lru_cache

from ironlaw.engine.cluster.footprint import stage_parameters
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.steps import Compute
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.registry import shards
from ironlaw.registry.machines import hardware

BUSY = Plan(launch=0.0)  # kernels of a large layer hide their launches


def compute(shape: Shape, layout: Layout, seq: int, machine: str, dtype: str = "bf16") -> Compute:
    """Seconds of a layer's passes, of the head and of the optimiser, on a machine of the registry."""
    ahead, back, scores, head = _layer(
        shape, layout.tensor, layout.context, layout.expert, layout.micro, layout.sequence_parallel, seq, machine, dtype
    )
    again = {"none": 0.0, "selective": scores, "full": ahead}[layout.recompute]
    held = max(stage_parameters(shape, layout, stage) for stage in (0, layout.pipeline - 1))
    mine = held / (layout.replicas if layout.zero else 1)
    return Compute(ahead, back, again, head, _busy(shards.update(mine, held, layout.gradient_bytes), hardware(machine)))


@lru_cache(maxsize=512)
def _layer(
    shape: Shape, tensor: int, context: int, expert: int, micro: int, split: bool, seq: int, machine: str, dtype: str
) -> tuple[float, float, float, float]:
    """Forward, backward, the part that selective recomputation repeats, head: they do not depend on the rest of a layout."""
    part = Layout(tensor=tensor, context=context, expert=expert, micro=micro, sequence_parallel=split)
    chip = hardware(machine)
    graphs = (shards.forward, shards.backward, shards.attention_only, shards.head)
    ahead, back, scores, head = (_busy(graph(shape, part, seq, dtype), chip) for graph in graphs)
    return ahead, back, scores, head


def _busy(graph: Graph | None, machine: Hardware) -> float:
    return 0.0 if graph is None else float(predict(graph, machine, BUSY).busy_s)
