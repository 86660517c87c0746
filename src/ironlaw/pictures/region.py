"""A plane that a boundary divides: what is above it, what is below, and on which side given cases lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.pictures.lines import Points
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import exact, format_quantity


@dataclass(frozen=True, slots=True)
class Case:
    """A place in the plane. `low`: where its y may lie as well, down to there. `limit`: the boundary's y at its own x."""

    name: str
    x: float
    y: float
    limit: float
    low: float | None = None
    source: str = ""
    chosen: bool = False
    drag: Hold | tuple[Hold, ...] | None = None

    def side(self, above: str, below: str) -> str:
        """Above, below, or between the two: the end at `low` is below and the other is not."""
        if self.y <= self.limit:
            return below
        return above if self.low is None or self.low > self.limit else f"{below} or {above}"


def region(
    boundary: Points, x: Axis, y: Axis, title: str, *, above: str, below: str, name: str = "boundary", cases: Sequence[Case] = (),
    others: Mapping[str, Points] | None = None, note: str = "", id: str = "region", height: int = 360, extra: Sequence[Mark] = (),
) -> Figure:  # fmt: skip
    """`boundary`: its places from left to right; what leaves the axes is cut off. `others`: further boundaries, as lines alone."""
    if x.domain is None or y.domain is None:
        raise BadValue(f"{title}: give both axes a domain, so that they don't move")
    if len(boundary) < 2:
        raise BadValue(f"{title}: the boundary has {len(boundary)} points; give at least two")
    low, high = y.domain
    edge = [(at, min(max(value, low), high)) for at, value in boundary]
    marks: list[Mark] = [
        mark("area", "fail", points=[(at, value, high) for at, value in edge], id="above", name=above),
        mark("area", "good", points=[(at, low, value) for at, value in edge], id="below", name=below),
        mark("line", "ink", points=inside(boundary, high), id="boundary", name=name, emphasis=True),
    ]
    for other, points in (others or {}).items():
        marks.append(mark("line", "ridge", points=inside(points, high), id=f"line-{other}", name=other, dash="7 4"))
    for case in sorted(cases, key=lambda each: each.chosen):
        marks += _case(case, x, y, above, below)
    sides = [f"{case.name}, at {_place(case, x, y)}: {case.side(above, below)}" for case in cases]
    ends = [f"{format_quantity(value, y.unit)} at {format_quantity(at, x.unit)}" for at, value in (boundary[0], boundary[-1])]
    legend: list[dict[str, Any]] = [
        {"colour": "fail", "label": above}, {"colour": "good", "label": below}, {"colour": "ink", "shape": "line", "label": name},
        *({"colour": "ridge", "shape": "line", "dash": True, "label": other} for other in others or {}),
    ]  # fmt: skip
    rows = tuple(
        (case.name, exact(case.x, x.unit), exact(case.y, y.unit), exact(case.limit, y.unit), case.side(above, below)) for case in cases
    )
    return Figure(
        id, title, x, y, (*marks, *extra), "; ".join((f"the {name} goes from {ends[0]} to {ends[1]}", *sides)) + ".",
        Table(("case", x.label, y.label, name, "side"), rows or tuple(("", exact(at, x.unit), "", exact(v, y.unit), "") for at, v in edge)),
        note, tuple(legend), {"height": height},
    )  # fmt: skip


def inside(points: Points, high: float) -> list[tuple[float, float]]:
    """The part of a falling or rising line up to the top of the axis: it ends where it leaves, not along the edge."""
    kept = [(at, value) for at, value in points if value <= high]
    return kept if len(kept) > 1 else [(at, min(value, high)) for at, value in points]


def _case(case: Case, x: Axis, y: Axis, above: str, below: str) -> list[Mark]:
    assert y.domain is not None
    top = min(max(case.y, y.domain[0]), y.domain[1])
    colour = "accent" if case.chosen else "ink"
    hover: list[Row] = [(x.label, exact(case.x, x.unit)), (y.label, exact(case.y, y.unit)), case.side(above, below), case.source]
    marks = []
    if case.low is not None:
        foot = min(max(case.low, y.domain[0]), top)
        marks.append(mark("line", colour, points=[(case.x, foot), (case.x, top)], id=f"span-{case.name}", name=f"{case.name}, its band",
                          emphasis=case.chosen))  # fmt: skip
    marks.append(
        mark("point", colour, x=case.x, y=top, size=8 if case.chosen else 5, shape="circle" if case.chosen else "diamond", label=case.name,
             emphasis=case.chosen, id="now" if case.chosen else f"case-{case.name}", name=case.name, hover=[row for row in hover if row],
             drag=case.drag)
    )  # fmt: skip
    return marks


def _place(case: Case, x: Axis, y: Axis) -> str:
    return f"{format_quantity(case.x, x.unit)}, {format_quantity(case.y, y.unit)}"
