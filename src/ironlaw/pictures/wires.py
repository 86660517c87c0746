"""Devices and the wires between them: nodes at fixed places, edges in the colour of what they are, and what is on its way over each.

Time enters as `done`, the share of its message that an edge has carried: a dot goes along it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark

WIDTH, HEIGHT = 160.0, 80.0  # of the plane that nodes are placed in


@dataclass(frozen=True, slots=True)
class Node:
    """A device. `idle`: it is there, and takes no part."""

    name: str
    x: float
    y: float
    idle: bool = False
    hover: tuple[Row, ...] = ()
    colour: str = "ink"


@dataclass(frozen=True, slots=True)
class Edge:
    """A wire from one node to another. `label` is written beside it; leave it out where another of its kind has one."""

    source: str
    target: str
    kind: str
    rate: str
    colour: str = "muted"
    label: str = ""
    binding: bool = False  # the one that all others wait for
    done: float | None = None
    hover: tuple[Row, ...] = ()


def places(boxes: int, per_box: int) -> list[tuple[float, float]]:
    """Where the devices of one or two boxes stand: in order round each box, so that neighbours in a ring are neighbours in the picture."""
    if boxes not in (1, 2):
        raise BadValue(f"{boxes} boxes have no room in one picture; give 1 or 2", "boxes")
    across, up = (0.34 * WIDTH, 0.36 * HEIGHT) if boxes == 1 else (0.19 * WIDTH, 0.36 * HEIGHT)
    centres = [0.5] if boxes == 1 else [0.23, 0.77]
    spots = []
    for box, centre in enumerate(centres):
        for i in range(per_box):
            angle = math.pi * (box + (2 * i + 1) / per_box)
            spots.append((centre * WIDTH + across * math.cos(angle), HEIGHT / 2 + up * math.sin(angle)))
    return spots


def wires(
    nodes: Sequence[Node], edges: Sequence[Edge], title: str, *, frames: Mapping[str, tuple[float, float, float, float]] | None = None,
    text: str, note: str = "", legend: tuple[dict[str, Any], ...] = (), id: str = "wires", carries: str = "bytes per second",
) -> Figure:  # fmt: skip
    """`frames`: name -> x0, x1, y0, y1 of a box around some nodes. `text` says what the picture shows in a sentence; `carries` what the
    edges' `rate` is, for the table. Without an edge the table lists the nodes."""
    at = {node.name: (node.x, node.y) for node in nodes}
    marks: list[Mark] = [
        mark("area", "ridge", x0=x0, x1=x1, y0=y0, y1=y1, id=f"frame-{name}", name=name, label=name)
        for name, (x0, x1, y0, y1) in (frames or {}).items()
    ]
    for edge in edges:
        marks += _edge(edge, at[edge.source], at[edge.target])
    for node in nodes:
        hover = node.hover or (("device", node.name),)
        colour = "muted" if node.idle and node.colour == "ink" else node.colour
        marks.append(
            mark("point", colour, x=node.x, y=node.y, id=f"node-{node.name}", name=node.name, label=node.name,
                 hover=hover, hollow=node.idle, size=6 if node.idle else 8)
        )  # fmt: skip
    timed = any(edge.done is not None for edge in edges)
    columns = ("edge", "wire", carries, *(("carried",) if timed else ()), "")
    rows = tuple(
        (f"{edge.source} to {edge.target}", edge.kind, edge.rate, *((f"{100 * min(1.0, edge.done or 0.0):.0f}%",) if timed else ()),
         "the slowest" if edge.binding else "")
        for edge in edges
    )  # fmt: skip
    table = Table(columns, rows) if rows else Table(("device",), tuple((node.name,) for node in nodes))
    return Figure(
        id, title, Axis("linear", domain=(0.0, WIDTH)), Axis("linear", domain=(0.0, HEIGHT)), tuple(marks), text, table,
        note, legend, {"plain": True, "height": 320},
    )  # fmt: skip


def _edge(edge: Edge, a: tuple[float, float], b: tuple[float, float]) -> list[Mark]:
    name = f"{edge.source} to {edge.target}"
    hover: tuple[Row, ...] = (("from, to", name), ("wire", edge.kind), ("carries", edge.rate), *edge.hover)
    middle = tuple((p + q) / 2 for p, q in zip(a, b, strict=True))
    marks = [mark("line", edge.colour, points=[a, middle, b], name=name, id=f"edge-{name}", emphasis=edge.binding, arrow=True, hover=hover)]
    if edge.label:
        marks.append(mark("label", edge.colour, x=middle[0], y=middle[1], id=f"label-{name}", label=edge.label))
    if edge.done is not None:
        share = min(1.0, max(0.0, edge.done))
        x, y = ((1 - share) * p + share * q for p, q in zip(a, b, strict=True))
        marks.append(mark("point", edge.colour, x=x, y=y, size=5, shape="diamond", id=f"dot-{name}", name=f"message, {name}"))
    return marks
