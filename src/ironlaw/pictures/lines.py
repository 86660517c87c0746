"""Lines over one axis: several series, upright rules at what matters, and points that were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.pictures.curve_picture import DASHES
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import exact, format_quantity

Points = Sequence[tuple[float, float]]
COLOURS = ("memory", "ink", "ridge", "compute")


def colour_of(place: int) -> str:
    """The colour of the series at this place."""
    return COLOURS[place % len(COLOURS)]


def dash_of(place: int) -> str | None:
    """The dash of the series at this place: those after the first four have the colours again, with other dashes."""
    return DASHES[(place + place // len(COLOURS)) % len(DASHES)] or None


OWN = ("square", "circle")  # shapes of the learner's own points
RECORDED = ("diamond", "triangle")  # of those that the evidence has


def lines(
    series: Mapping[str, Points], x: Axis, y: Axis, title: str, *, measured: Mapping[str, Points] | None = None,
    measured_on: str = "", extra: Sequence[Mark] = (),
    now: tuple[str, float] | None = None, note: str = "", id: str = "lines", more: dict[str, Any] | None = None,
    local: Mapping[str, Points] | None = None, drag: Hold | None = None, told: bool = False,
) -> Figure:  # fmt: skip
    """`measured`: series of points alone, of the machine `measured_on`. `now`: (series, x) where the dials stand; its point is
    emphasised, and stands for the dial of `drag`;
    where the truth stands there already (`told`) it is a ring round that.
    `local`: series of points that were measured on the learner's own machine; their name says with what."""
    measured, local = measured or {}, local or {}
    if not series or not all(series.values()):
        raise BadValue(f"{title}: a series has no points; give each at least one")
    alone = len(series) == 1 and not measured and not local  # a line that nothing else is told apart from needs no name
    marks: list[Mark] = list(extra)
    for i, (name, points) in enumerate(series.items()):
        marks.append(
            mark(
                "line",
                colour_of(i),
                points=_in_view(points, x, y),
                name=name,
                dash=dash_of(i),
                id=f"line-{name}",
                end=None if alone else name,
            )
        )
        chosen = [_point(name, at, value, x, y, drag, told) for at, value in points if now and now == (name, at)]
        marks = [*chosen, *marks] if told else [*marks, *chosen]
    for i, (name, points) in enumerate(measured.items()):
        marks += [_measured(name, at, value, x, y, measured_on, RECORDED[i % 2]) for at, value in points]
    for i, (name, points) in enumerate(local.items()):
        marks += [_local(name, at, value, x, y, OWN[i % 2]) for at, value in points]
    table_series = {**series, **{f"{name}, measured": points for name, points in measured.items()}, **local}
    table = tuple(
        (name, _place(at, x), format_quantity(value, y.unit), exact(value, y.unit))
        for name, points in table_series.items()
        for at, value in points
    )
    ends = [
        f"{name} goes from {format_quantity(p[0][1], y.unit)} at {_place(p[0][0], x)}"
        f" to {format_quantity(p[-1][1], y.unit)} at {_place(p[-1][0], x)}"
        for name, p in table_series.items()
        if p
    ]
    named = {} if alone else series
    legend: tuple[dict[str, Any], ...] = tuple(
        {"colour": colour_of(i), "shape": "line", "dash": dash_of(i) or False, "label": name} for i, name in enumerate(named)
    ) + tuple({"colour": "accent", "shape": RECORDED[i % 2], "label": f"{name}, measured"} for i, name in enumerate(measured))
    legend += tuple({"colour": "here", "shape": OWN[i % 2], "label": name} for i, name in enumerate(local))
    return Figure(
        id,
        title,
        x,
        y,
        tuple(marks),
        "; ".join(ends) + ".",
        Table(("series", x.label, y.label, "exactly"), table),
        note,
        legend,
        more or {},
    )


def _in_view(points: Points, x: Axis, y: Axis) -> Points:
    """A line ends where it leaves the picture; drawn at the edge it would say that it stays there."""
    if y.domain is None:
        return points
    low, high = y.domain
    inside = [i for i, (_, value) in enumerate(points) if low <= value <= high]
    if not inside:
        return points
    first, last = inside[0], inside[-1]
    before = [_crossing(points[first], points[first - 1], x, y)] if first > 0 else []
    behind = [_crossing(points[last], points[last + 1], x, y)] if last + 1 < len(points) else []
    return [*before, *points[first : last + 1], *behind]


def _crossing(inside: tuple[float, float], outside: tuple[float, float], x: Axis, y: Axis) -> tuple[float, float]:
    """Where the straight line between two points, as drawn, crosses the edge."""
    assert y.domain is not None
    edge = y.domain[0] if outside[1] < y.domain[0] else y.domain[1]
    if y.scale == "log" and outside[1] <= 0:
        return inside
    flat, bent = (float, float), (math.log, math.exp)
    (on_y, _), (on_x, back) = (bent if axis.scale == "log" else flat for axis in (y, x))
    share = (on_y(edge) - on_y(inside[1])) / (on_y(outside[1]) - on_y(inside[1]))
    return back(on_x(inside[0]) + share * (on_x(outside[0]) - on_x(inside[0]))), edge


def _place(at: float, x: Axis) -> str:
    """A count in full (1,024, not 1.02 k); a quantity with a unit in its short form."""
    return format_quantity(at, x.unit) if x.unit else exact(at)


def _point(name: str, at: float, value: float, x: Axis, y: Axis, drag: Hold | None, told: bool) -> Mark:
    hover = [(x.label, exact(at, x.unit)), (y.label, exact(value, y.unit))]
    return mark(
        "point",
        "accent",
        x=at,
        y=value,
        size=12 if told else 7,
        hollow=told,
        emphasis=False,
        id=f"now-{name}",
        name=f"{name}, as set",
        label="" if told else format_quantity(value, y.unit),
        hover=hover,
        drag=drag,
    )


def _measured(name: str, at: float, value: float, x: Axis, y: Axis, machine: str, shape: str) -> Mark:
    hover: list[Row] = [(x.label, exact(at, x.unit)), (y.label, exact(value, y.unit)), f"measured on {machine}" if machine else "measured"]
    return mark("point", "accent", x=at, y=value, shape=shape, size=5, id=f"{name}-{at:g}", name=f"{name}, measured", hover=hover)


def _local(name: str, at: float, value: float, x: Axis, y: Axis, shape: str) -> Mark:
    hover: list[Row] = [(x.label, exact(at, x.unit)), (y.label, exact(value, y.unit)), name]
    return mark("point", "here", x=at, y=value, shape=shape, size=6, emphasis=True, id=f"here-{name}-{at:g}", name=name, hover=hover)


def upright(at: float, label: str, name: str, unit: str, colour: str = "ridge", id: str = "", drag: Hold | None = None) -> Mark:
    """A rule at a notable place on the x axis."""
    return mark("rule", colour, x=at, dash=True, label=label, name=name, id=id or name, hover=[(name, exact(at, unit))], drag=drag)
