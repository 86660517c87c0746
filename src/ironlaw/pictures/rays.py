"""The ROC square with rays: all decisions of one precision lie on a ray from the corner, and each base rate has its own ray.

x is the share flagged of the others, y the share flagged of the true cases. Two rays of one precision meet at the corner where
nobody is flagged, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.parity.rates import ray
from ironlaw.errors import BadValue
from ironlaw.pictures.curve_picture import DASHES
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import percent

COLOURS = ("cloud", "edge", "mobile", "tiny")
SHAPES = ("circle", "square", "triangle", "diamond")
Point = tuple[float, float]
NESTED = (9.0, 7.5, 6.0, 4.5)  # sizes of the points of three or four groups: those that a rule brings together lie on each other


@dataclass(frozen=True, slots=True)
class Line:
    """A group: its curve from corner to corner, its base rate, and the point at which its decision stands."""

    name: str
    curve: Sequence[Point]
    base: float
    point: Point
    drag: Hold | None = None  # the dial that its point turns, with stops along x


def rays(
    groups: Sequence[Line], ppv: float | None, title: str, *, flagged: str = "flagged", true: str = "the true cases",
    other: str = "the others", note: str = "", id: str = "rays",
) -> Figure:  # fmt: skip
    """`ppv`: the precision to hold, a ray for each group; None draws none. More than two groups are told apart by the legend alone."""
    if not groups or len(groups) > len(COLOURS):
        raise BadValue(f"{title}: {len(groups)} groups; give one to {len(COLOURS)}")
    marks: list[Mark] = [mark("line", "muted", points=[(0.0, 0.0), (100.0, 100.0)], dash="2 4", name="no better than chance", id="chance")]
    across, up = f"{flagged}, of {other}", f"{flagged}, of {true}"
    for i, group in enumerate(groups):
        marks += _group(i, group, ppv, (across, up), len(groups) <= 2)
    rows = tuple(
        (group.name, percent(group.base), percent(group.point[0]), percent(group.point[1]), _slope(group, ppv)) for group in groups
    )
    legend = tuple(
        {"colour": COLOURS[i], "shape": SHAPES[i], "label": f"{group.name}, base rate {percent(group.base)}"}
        for i, group in enumerate(groups)
    )
    columns = ("group", "base rate", across, up, "slope of its ray")
    return Figure(
        id, title, Axis("linear", across, "%", (0.0, 100.0)), Axis("linear", up, "%", (0.0, 100.0)), tuple(marks),
        _words(groups, ppv, across, up), Table(columns, rows), note, legend, {"height": 400},
    )  # fmt: skip


def _group(i: int, group: Line, ppv: float | None, axes: tuple[str, str], named: bool) -> list[Mark]:
    colour, shape, dash = COLOURS[i], SHAPES[i], DASHES[i]
    curve = [(100 * x, 100 * y) for x, y in group.curve]
    marks = [mark("line", colour, points=curve, name=f"{group.name}, every threshold", dash=dash or None, id=f"curve-{group.name}")]
    if ppv is not None:
        marks.append(
            mark("line", colour, points=_ray(group.base, ppv), name=f"{group.name}, one precision", dash="1 3", id=f"ray-{group.name}")
        )
    x, y = group.point
    hover = [("group", group.name), (axes[0], percent(x)), (axes[1], percent(y))]
    marks.append(
        mark("point", colour, x=100 * x, y=100 * y, shape=shape, size=8 if named else NESTED[i], emphasis=True, id=f"at-{group.name}",
             name=f"{group.name}, as set",
             label=group.name if named else "", hover=hover, drag=group.drag)
    )  # fmt: skip
    return marks


def _ray(base: float, ppv: float) -> list[Point]:
    """A ray from the corner to where it leaves the square."""
    slope = ray(base, ppv)
    if math.isinf(slope):
        return [(0.0, 0.0), (0.0, 100.0)]
    return [(0.0, 0.0), (100.0 / slope, 100.0)] if slope >= 1 else [(0.0, 0.0), (100.0, 100.0 * slope)]


def _slope(group: Line, ppv: float | None) -> str:
    if ppv is None:
        return "–"
    slope = ray(group.base, ppv)
    return "upright" if math.isinf(slope) else significant(slope)


def _words(groups: Sequence[Line], ppv: float | None, across: str, up: str) -> str:
    each = "; ".join(f"{group.name}: {across} {percent(group.point[0])}, {up} {percent(group.point[1])}" for group in groups)
    held = (
        ""
        if ppv is None
        else f". Rays of one precision, {percent(ppv)}: " + ", ".join(f"{group.name} {_slope(group, ppv)}" for group in groups)
    )
    return f"{each}{held}."
