"""Bytes held by activations while each op runs, from the op that makes a tensor to its last reader, beside the permanent weights."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.memory import live_profile
from ironlaw.engine.device.types import Graph
from ironlaw.pictures.ends import up_to
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import cite, exact, format_quantity, share

STEPS, POINTS = 240, 40  # of the line, and of what can be pointed at
NEAR = 4.0  # a limit that many times the peak is beyond the picture


def live(graph: Graph, hardware: Hardware, id: str = "live") -> Figure:
    """`graph` as it runs: fused where it is compiled."""
    alive = [float(value) for value in live_profile(graph)[1:]]
    fixed, capacity = float(graph.cache_bytes + (0.0 if hardware.flash else graph.weight_bytes)), float(hardware.usable)
    peak = max(range(len(alive)), key=lambda i: alive[i])
    line = [(float(i + 1), alive[i]) for i in _highest(alive, STEPS)]
    if len(line) == 1:
        line.insert(0, (0.0, line[0][1]))
    marks: list[Mark] = [
        mark("area", "memory", points=[(x, 0.0, y) for x, y in line], id="activations"),
        mark("line", "memory", points=line, name="activations", id="live"),
        *(_point(graph, i, alive[i], fixed, i == peak) for i in dict.fromkeys([*_highest(alive, POINTS), peak])),
    ]
    room = capacity - fixed
    near = 0 < room <= NEAR * alive[peak]
    if near:
        about: list[Row] = [("usable", exact(capacity, "B")), ("weights", exact(fixed, "B")), cite(hardware.figures.get("memory"))]
        colour = "fail" if alive[peak] > room else "ink"
        marks.append(
            mark("rule", colour, y=room, label=f"room beside the weights {format_quantity(room, 'B')}", name="room", id="room", hover=about)
        )
    x = Axis("linear", "operator", domain=(min(line[0][0], 1.0), max(line[-1][0], 2.0)))
    y = Axis("linear", "activations held", "B", (0.0, up_to(1.2 * max(alive[peak], room if near else 0.0))))
    together = f"{format_quantity(fixed + alive[peak], 'B')}, {share(fixed + alive[peak], capacity)} of {hardware.name}"
    note = f"at most {format_quantity(alive[peak], 'B')}; with {format_quantity(fixed, 'B')} of {_residents(graph)} {together}"
    words = _words(graph, fixed, alive[peak], peak, capacity, hardware.name)
    return Figure(
        id, "Activations, operator by operator", x, y, tuple(marks), words, _table(graph, alive, fixed), note, (), {"height": 320}
    )


def _highest(values: list[float], most: int) -> list[int]:
    """The index of the highest value in each of `most` stretches, plus the first and the last."""
    if len(values) <= most:
        return list(range(len(values)))
    size = -(-len(values) // most)
    peaks = [max(range(i, min(i + size, len(values))), key=lambda j: values[j]) for i in range(0, len(values), size)]
    return sorted({0, *peaks, len(values) - 1})


def _residents(graph: Graph) -> str:
    return "weights and cache" if float(graph.cache_bytes) else "weights"


def _point(graph: Graph, i: int, alive: float, fixed: float, peak: bool) -> Mark:
    op = graph.ops[i]
    hover: list[Row] = [
        ("operator", f"{i + 1:,}"),
        ("kind", op.kind),
        ("activations", exact(alive, "B")),
        ("in all", format_quantity(fixed + alive, "B")),
    ]
    dress: dict[str, Any] = {"colour": "memory", "size": 3, "id": f"op-{i}"}
    if peak:
        dress = {"colour": "accent", "shape": "diamond", "size": 6, "label": f"peak {format_quantity(alive, 'B')}", "id": "peak"}
    return mark("point", x=float(i + 1), y=alive, name=op.name, hover=hover, **dress)


def _words(graph: Graph, fixed: float, alive: float, peak: int, capacity: float, machine: str) -> str:
    verdict = "fits" if fixed + alive <= capacity else "does not fit"
    return (
        f"{_residents(graph).capitalize()} {format_quantity(fixed, 'B')}; activations at most {format_quantity(alive, 'B')},"
        f" at {graph.ops[peak].name}, operator {peak + 1:,} of {len(graph.ops):,}; together {format_quantity(fixed + alive, 'B')},"
        f" which {verdict} in the {format_quantity(capacity, 'B')} of {machine}."
    )


def _table(graph: Graph, alive: list[float], fixed: float) -> Table:
    rows = [
        (f"{i + 1:,}", graph.ops[i].name, format_quantity(alive[i], "B"), format_quantity(fixed + alive[i], "B"))
        for i in _highest(alive, POINTS)
    ]
    return Table(("operator", "name", "activations", "in all"), tuple(rows))
