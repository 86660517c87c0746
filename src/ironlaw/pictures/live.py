"""What is in memory while each op runs: weights and cache all along, activations from where they are made to their last reader."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.memory import live_profile
from ironlaw.engine.types import Graph, Hardware
from ironlaw.pictures.figure import Axis, Figure, Mark, Row, Table, cite, exact, mark, read, share

STEPS, POINTS = 240, 40  # of the line, and of what can be pointed at
NEAR = 4.0  # a capacity that many times the peak is beyond the picture


def live(graph: Graph, hardware: Hardware, id: str = "live") -> Figure:
    """`graph` as it runs: fused where it is compiled."""
    alive = [float(value) for value in live_profile(graph)[1:]]
    fixed = float(graph.weight_bytes + graph.cache_bytes)
    peak = max(range(len(alive)), key=lambda i: alive[i])
    top = fixed + alive[peak]
    kept = _highest(alive, STEPS)
    line = [(float(i), fixed + alive[i]) for i in kept]
    if len(line) == 1:
        line.append((1.0, line[0][1]))
    end = line[-1][0]
    held = f"weights{_cache(graph)} {read(fixed, 'B')}"
    marks: list[Mark] = [
        mark("area", "memory", points=[(x, fixed, y) for x, y in line], id="activations"),
        *([mark("area", "ridge", points=[(0.0, 0.0, fixed), (end, 0.0, fixed)], id="fixed")] if fixed else []),
        *([mark("rule", "ridge", y=fixed, label=held, name="weights", id="weights", hover=_fixed(graph))] if fixed else []),
        mark("line", "memory", points=line, id="live"),
    ]  # fmt: skip
    for i in dict.fromkeys([*_highest(alive, POINTS), peak]):
        marks.append(_point(graph, i, alive[i], fixed, i == peak))
    capacity = float(hardware.memory)
    shown = capacity <= NEAR * top
    if shown:
        over: dict[str, Any] = {"colour": "fail" if top > capacity else "ink"}
        about: list[Row] = [("capacity", exact(capacity, "B")), cite(hardware.figures.get("memory"))]
        marks.append(mark("rule", y=capacity, label=f"capacity {read(capacity, 'B')}", name="capacity", id="capacity", hover=about, **over))
    most = max(top, capacity) if shown else top
    note = f"at most {read(top, 'B')} at once, {share(top, capacity)} of {hardware.name}"
    legend = (
        {"colour": "memory", "shape": "line", "label": "weights and activations"},
        {"colour": "accent", "shape": "diamond", "label": "the peak"},
    )
    x, y = Axis("linear", "operator", domain=(0.0, max(end, 1.0))), Axis("linear", "bytes held", "B", (0.0, 1.15 * most))
    words, table = _words(graph, fixed, alive[peak], peak, capacity, hardware.name), _table(graph, alive, fixed)
    return Figure(id, "Memory, operator by operator", x, y, tuple(marks), words, table, note, legend, {"height": 320})


def _highest(values: list[float], most: int) -> list[int]:
    """Places of the highest value in each of `most` stretches; the first and the last stay."""
    if len(values) <= most:
        return list(range(len(values)))
    size = -(-len(values) // most)
    found = [max(range(i, min(i + size, len(values))), key=lambda j: values[j]) for i in range(0, len(values), size)]
    return sorted({0, *found, len(values) - 1})


def _cache(graph: Graph) -> str:
    return " and cache" if float(graph.cache_bytes) else ""


def _fixed(graph: Graph) -> list[Row]:
    return [
        ("weights", exact(float(graph.weight_bytes), "B")),
        *([("KV cache", exact(float(graph.cache_bytes), "B"))] if _cache(graph) else []),
    ]


def _point(graph: Graph, i: int, alive: float, fixed: float, peak: bool) -> Mark:
    op = graph.ops[i]
    hover: list[Row] = [("kind", op.kind), ("activations", exact(alive, "B")), ("in all", read(fixed + alive, "B"))]
    dress: dict[str, Any] = (
        {"shape": "diamond", "size": 6, "emphasis": True, "label": f"peak {read(fixed + alive, 'B')}"} if peak else {"size": 2.5}
    )
    return mark(
        "point",
        "accent" if peak else "memory",
        x=float(i),
        y=fixed + alive,
        id="peak" if peak else f"op-{i}",
        name=op.name,
        hover=hover,
        **dress,
    )


def _words(graph: Graph, fixed: float, alive: float, peak: int, capacity: float, machine: str) -> str:
    verdict = "fits" if fixed + alive <= capacity else "does not fit"
    return (
        f"Weights{_cache(graph)} {read(fixed, 'B')}; activations at most {read(alive, 'B')}, at {graph.ops[peak].name}, operator"
        f" {peak + 1:,} of {len(graph.ops):,}; together {read(fixed + alive, 'B')}: it {verdict} into {machine}'s {read(capacity, 'B')}."
    )


def _table(graph: Graph, alive: list[float], fixed: float) -> Table:
    rows = [(f"{i + 1:,}", graph.ops[i].name, read(alive[i], "B"), read(fixed + alive[i], "B")) for i in _highest(alive, POINTS)]
    return Table(("operator", "name", "activations", "in all"), tuple(rows))
