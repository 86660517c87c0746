"""What checkpoints cost in arithmetic, and how many segments keep least."""

from __future__ import annotations

from math import sqrt

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.training_layers import segments


def recompute(graph: Graph, checkpoint: int) -> Number:
    """FLOPs that run a second time, as a share of forward and backward; backward is two of forward (each product has two gradients)."""
    ops = graph.ops
    again = sum(ops[i].work.matmul_flops for segment in segments(graph, checkpoint) for i in segment)
    return again / (3.0 * graph.flops)


def checkpoint_bytes(layers: int, boundary: Number, layer: Number, count: int) -> Number:
    """Kept at once with `count` segments of whole layers: what comes into each, and all of the longest one."""
    return count * boundary + -(-layers // count) * layer


def best_checkpoints(layers: int, boundary: Number, layer: Number) -> int:
    """The number of segments that keeps least, by trying all."""
    return min(range(1, layers + 1), key=lambda count: checkpoint_bytes(layers, boundary, layer, count))


def continuous_checkpoints(layers: Number, boundary: Number, layer: Number) -> tuple[float, float]:
    """Where segments need not be whole: the best number √(layer·layers/boundary), and the bytes 2·√(layer·boundary·layers)."""
    return sqrt(layer * layers / boundary), 2.0 * sqrt(layer * boundary * layers)
