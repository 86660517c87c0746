"""A ratio to scale: so many squares for one. Above a thousand, a thousand squares, and one of them taken apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark

WIDTH, HEIGHT = 160.0, 66.0  # of the plane that squares are placed in
MANY = 1000  # squares that are still seen one by one
SIDE, TOP, GAP = 62.0, 62.0, 36.0  # of a block, and between two


@dataclass(frozen=True, slots=True)
class Side:
    """A device: its name and its colour."""

    name: str
    colour: str


def to_scale(large: Side, small: Side, ratio: float, title: str, id: str = "to-scale") -> Figure:
    """`ratio`: how often the small one goes into the large one."""
    if not 1 <= ratio <= 2 * MANY**2:
        raise BadValue(f"{title}: {ratio:g} squares can't be drawn; give a ratio from 1 to two million", "ratio")
    each = max(1.0, ratio / MANY)  # small ones in a square of the first block
    count, parts = round(ratio / each), round(each)
    squares = f"{significant(ratio)} squares" if parts == 1 else f"1,000 squares of {significant(each)} each"
    marks = _block(large, small if parts == 1 else None, count, 0.0)
    if parts > 1:
        marks += [*_zoom(SIDE / _columns(count)), *_block(large, small, parts, SIDE + GAP)]
    words = f"{large.name} is {significant(ratio)} times {small.name}: {squares}, of which {small.name} is one."
    rows = ((small.name, "1"), (large.name, significant(ratio)))
    legend = (
        {"colour": large.colour, "label": f"{large.name}, all the squares on the left" if parts > 1 else f"{large.name}, all of them"},
        {"colour": small.colour, "label": f"{small.name}, one square" + (" on the right" if parts > 1 else "")},
    )
    return Figure(
        id, title, Axis("linear", domain=(0.0, WIDTH)), Axis("linear", domain=(0.0, HEIGHT)), tuple(marks), words,
        Table(("device", "squares"), rows), squares, legend, {"plain": True, "ratio": HEIGHT / WIDTH},
    )  # fmt: skip


def _columns(count: int) -> int:
    return max(1, math.ceil(math.sqrt(count)))


def _block(large: Side, small: Side | None, count: int, left: float) -> list[Mark]:
    """As many squares as there are. The one that matters is the first, or, where it is taken apart beside them, the last of the top row."""
    columns = _columns(count)
    whole: dict[str, Any] = {"x0": left, "x1": left + SIDE, "y0": TOP - SIDE, "y1": TOP, "grid": [columns, columns]}
    at = 0 if small else columns - 1
    rest = [(start, end) for start, end in ((0, at), (at + 1, count)) if end > start]
    marks = [
        mark("cells", large.colour, **whole, start=start, count=end - start, id=f"large-{left:g}-{start}", name=large.name)
        for start, end in rest
    ]
    name, colour = (small.name, small.colour) if small else ("one square", "ink")
    return [*marks, mark("cells", colour, **whole, start=at, count=1, id=f"one-{left:g}", name=name)]


def _zoom(side: float) -> list[Mark]:
    """Lines from the square of the left block to the whole of the right one."""
    return [
        mark("line", "ink", points=[(SIDE, start), (SIDE + GAP, end)], dash="2 3", id=f"zoom-{end:g}", name="one square, enlarged")
        for start, end in ((TOP, TOP), (TOP - side, TOP - SIDE))
    ]
