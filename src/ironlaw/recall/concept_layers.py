"""The concept map in layers, top to bottom: a concept is placed below all concepts that lead to it, unless the map has a cycle.

Where two concepts lead to each other (fusion needs capture, capture exposes fusion), the edge that is written last decides; an edge
that closes a longer cycle is left out of the layering. Both are still drawn.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironlaw.recall.concepts import Map


def layers(graph: Map) -> tuple[tuple[str, ...], ...]:
    """Every concept once; within a layer ordered by what leads to them, so that few edges cross."""
    forward = _forward(graph)
    depth = {name: _depth(name, forward, {}) for name in graph.concepts}
    rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in graph.concepts:
        rows[depth[name]].append(name)
    place: dict[str, float] = {}
    for row in rows:
        row.sort(key=lambda name: _middle(forward[name], place))
        place |= {name: (i + 0.5) / len(row) for i, name in enumerate(row)}
    return tuple(map(tuple, rows))


def _forward(graph: Map) -> dict[str, list[str]]:
    """target -> its sources, without the edges that lead back to a concept on the way from the first."""
    into: dict[str, list[str]] = {name: [] for name in graph.concepts}
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    kept = {pair for i, pair in enumerate(pairs) if (pair[1], pair[0]) not in pairs[i:]}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        for target in graph.below(name):
            if target in (*way, name) or (name, target) not in kept:
                continue
            into[target].append(name)
            if target not in done:
                visit(target, (*way, name))
        done.add(name)

    for name in graph.concepts:
        if name not in done:
            visit(name, ())
    return into


def _depth(name: str, into: Mapping[str, list[str]], known: dict[str, int]) -> int:
    if name not in known:
        known[name] = 1 + max((_depth(source, into, known) for source in into[name]), default=-1)
    return known[name]


def _middle(sources: list[str], place: Mapping[str, float]) -> float:
    places = [place[source] for source in sources if source in place]
    return sum(places) / len(places) if places else 0.5
