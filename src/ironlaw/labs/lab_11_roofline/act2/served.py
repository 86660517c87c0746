"""A registry model as a serving engine runs it: its graph, what of it fuses, its weights, and what is alive at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ironlaw.engine.device import memory
from ironlaw.engine.device.compiler_rules import POINTWISE, TREE
from ironlaw.engine.device.deployment import regroup, serving
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph
from ironlaw.registry.families import FAMILIES
from ironlaw.registry.workloads import about, workload

RULES = {"separate": None, "adjacent": POINTWISE, "all": TREE}


@lru_cache(maxsize=256)
def serving_graph(model: str, layers: int, phase: str, batch: int, context: int, fmt: str, weights: str, cache: str, tiled: bool) -> Graph:
    """The graph of a registry model with so many layers, as a serving engine runs it."""
    data = about(model)
    settings = {**data["params"], **data["defaults"], "layers": layers, "phase": phase, "batch": batch, "seq": context, "context": context}
    graph: Graph = FAMILIES[data["family"]](**{**settings, "dtype": fmt})
    return serving(Graph(model, graph.ops, graph.dtype, graph.settings, graph.outputs), weights, cache, tiled)


@lru_cache(maxsize=256)
def fusion_groups(model: str, layers: int, phase: str, sizes: tuple[int, int], fmt: str, cache: str, tiled: bool, fusion: str) -> Any:
    """Which ops the planner joins, by name: a tuple of names per kernel."""
    graph = serving_graph(model, layers, phase, *sizes, fmt, fmt, cache, tiled)
    return tuple(tuple(op.name for op in group.ops) for group in fuse(graph, RULES[fusion] or TREE).groups)


def fused(graph: Graph, layers: int, fmt: str, cache: str, tiled: bool, fusion: str) -> Graph:
    """A graph of `served`, fused as the level says. The plan hangs on sizes only where two of them happen to be equal."""
    if RULES[fusion] is None:
        return graph
    of = graph.settings
    batch, context = of["batch"], of["context"]
    sizes = (1, 512) if batch == 1 else (256, 256) if batch == context else (8, 512)
    return regroup(graph, fusion_groups(graph.name, layers, of["phase"], sizes, fmt, cache, tiled, fusion))


@lru_cache(maxsize=64)
def weight_bytes(model: str, fmt: str, weights: str) -> float:
    return float(serving(workload(model, dtype=fmt), weights).weight_bytes)


@lru_cache(maxsize=32)
def weights_read(model: str, fmt: str, weights: str = "") -> float:
    """Bytes of weights that a decoding step reads, one sequence: all but the rows of the embedding that nobody looks up."""
    graph = serving(workload(model, phase="decode", batch=1, context=1, dtype=fmt), weights)
    return float(sum(size for op in graph.ops for t, size in zip(op.inputs, op.reads, strict=True) if t.role == "weight"))


# Where the sizes of a served graph are asked for: every tensor's is linear in the batch and at most quadratic in the context, so
# two batches and three contexts give it everywhere. The batch of one is planned by itself.
BATCH, CONTEXT = 2, 300

Setting = tuple[str, str, str, str, bool, str]  # model, phase, format, the cache's, tiled, fusion


@lru_cache(maxsize=128)
def profiles(setting: Setting, one: bool) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Per op what is alive while it runs, at three contexts in a row; for one batch, and for two in a row unless it is `one`."""
    model, phase, fmt, cache, tiled, fusion = setting
    rows = []
    for batch in (1,) if one else (BATCH, BATCH + 1):
        graphs = [serving_graph(model, 2, phase, batch, CONTEXT + i, fmt, fmt, cache, tiled) for i in range(3)]
        each = [memory.live_profile(fused(graph, 2, fmt, cache, tiled, fusion)) for graph in graphs]
        rows.append(tuple(tuple(map(float, row)) for row in zip(*each, strict=True)))
    return tuple(rows)


def activations(setting: Setting, batch: int, context: int) -> float:
    """Alive at once. Layers come one after the other, so two are enough to ask; the weights' format does not matter."""
    if batch == context:  # two sizes that happen to be equal may be planned otherwise
        model, phase, fmt, cache, tiled, fusion = setting
        graph = serving_graph(model, 2, phase, batch, context, fmt, fmt, cache, tiled)
        return float(memory.live_activations(fused(graph, 2, fmt, cache, tiled, fusion)))
    low, *more = ([_at(row, context) for row in rows] for rows in profiles(setting, batch == 1))
    if not more:
        return max(low)
    return max(a + (batch - BATCH) * (b - a) for a, b in zip(low, more[0], strict=True))


def _at(row: tuple[float, ...], context: int) -> float:
    """Newton's form of the parabola through three values in a row."""
    step = context - CONTEXT
    slope = row[1] - row[0]
    return row[0] + step * slope + step * (step - 1) / 2 * (row[2] - row[1] - slope)
