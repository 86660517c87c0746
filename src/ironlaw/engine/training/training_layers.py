"""The layers of a model, by the names of its ops: `h.3.mlp.c_fc` is in layer `h.3`, `lm_head` in none."""

from __future__ import annotations

from functools import lru_cache

from ironlaw.engine.device.types import Graph
from ironlaw.errors import BadValue


@lru_cache(maxsize=8192)
def layer_of(name: str) -> str:
    """The name up to the first part that is a number; empty where there is none."""
    parts = name.split(".")
    for i, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[: i + 1])
    return ""


def layer_in(graph: Graph, name: str) -> str:
    """The layer of an op. Where a captured model calls an operator again, the number at the end of its name is not a layer's."""
    whole, _, last = name.rpartition(".")
    return layer_of(whole if graph.settings.get("captured") and last.isdigit() else name)


def layers(graph: Graph) -> tuple[str, ...]:
    """The layers, in the order in which they run."""
    if "layers" not in graph.plans:
        graph.plans["layers"] = tuple(dict.fromkeys(filter(None, (layer_in(graph, op.name) for op in graph.ops))))
    names: tuple[str, ...] = graph.plans["layers"]
    return names


def segments(graph: Graph, count: int) -> tuple[range, ...]:
    """The ops of `count` runs of whole layers, as equal as can be; the longer ones first. None where `count` is 0."""
    names = layers(graph)
    if not isinstance(count, int) or not 0 <= count <= len(names):
        raise BadValue(
            f"checkpoint is {count!r}; {graph.name} has {len(names)} layers: give 0 (none) to {len(names)} (every layer)", "checkpoint"
        )
    if not count:
        return ()
    place = {name: i for i, name in enumerate(names)}
    size, longer = divmod(len(names), count)
    ends = [size * (i + 1) + min(i + 1, longer) for i in range(count)]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, op in enumerate(graph.ops):
        if (layer := layer_in(graph, op.name)) in place:
            segment = next(s for s, end in enumerate(ends) if place[layer] < end)
            first.setdefault(segment, i)
            last[segment] = i
    return tuple(range(first[s], last[s] + 1) for s in range(count))
