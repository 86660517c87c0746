"""A figure as the widget takes it: two axes, marks, a sentence and a table that say the same.

    Figure("gap", "Peak rate", Axis("log", "peak rate", "FLOP/s"), Axis("band", names=("H100", "M7")),
           (bar(x=989e12, y="H100", colour="cloud", label="989 TFLOP/s"), …), text="…", table=Table(("machine", "peak"), …))

Numbers are in SI, words already formatted; the widget formats ticks only. Everything is checked on construction: a
colour that means nothing, a mark off its axis or a picture without words is an error here, not a blank in the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from ironlaw.errors import BadValue, unknown
from ironlaw.units import spoken
from ironlaw.widget.colours import COLOURS

SCALES = ("log", "linear", "band")
MARKS = ("bar", "dot", "cells", "line", "point", "area", "rule", "label")
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "person")
ROLES = ("prediction", "truth")

Row = tuple[str, str] | str  # of the hover box: (what, value) pairs, then sources


@dataclass(frozen=True, slots=True)
class Axis:
    scale: str
    label: str = ""
    unit: str = ""
    domain: tuple[float, float] | None = None
    names: tuple[str, ...] = ()
    ticks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise unknown("scale", self.scale, SCALES)
        if self.scale == "band" and (not self.names or len(set(self.names)) != len(self.names)):
            raise BadValue(f"a band axis has {self.names!r} for names; give at least one, each once")
        if self.domain is not None:
            low, high = self.domain
            if not (math.isfinite(low) and math.isfinite(high) and low < high) or (self.scale == "log" and low <= 0):
                where = " above 0" if self.scale == "log" else ""
                raise BadValue(f"axis {self.label!r} goes from {low} to {high}; give a lower and a higher end{where}")

    def holds(self, value: Any) -> bool:
        """Whether a mark can stand there. Zero on a log axis may: it is drawn at the foot."""
        if self.scale == "band":
            return value in self.names
        return isinstance(value, (int, float)) and math.isfinite(value) and (self.scale != "log" or value >= 0)


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.columns or not self.rows:
            raise BadValue("a figure's table is empty; give it the figures that the picture shows")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise BadValue(f"a table row has {len(row)} cells for {len(self.columns)} columns: {row!r}")


@dataclass(frozen=True, slots=True)
class Mark:
    """Positions are x, y, x0, x1, y0, y1 or points; `more` is what only some types take (see the makers below)."""

    type: str
    colour: str = "ink"
    at: tuple[tuple[str, Any], ...] = ()
    points: tuple[tuple[float, ...], ...] = ()
    label: str = ""
    name: str = ""
    hover: tuple[Row, ...] = ()
    more: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.type not in MARKS:
            raise unknown("mark", self.type, MARKS)
        if self.colour not in COLOURS:
            raise unknown("semantic colour", self.colour, COLOURS)
        more = dict(self.more)
        if more.get("shape") is not None and more["shape"] not in SHAPES:
            raise unknown("shape", more["shape"], SHAPES)
        if more.get("role") is not None and more["role"] not in ROLES:
            raise unknown("role", more["role"], ROLES)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"type": self.type, "colour": self.colour, **dict(self.at), **dict(self.more)}
        for key, value in (("label", self.label), ("name", self.name)):
            if value:
                out[key] = value
        if self.points:
            out["points"] = [list(point) for point in self.points]
        if self.hover:
            out["hover"] = [list(row) if isinstance(row, tuple) else row for row in self.hover if row]
        return out


def mark(
    type: str, colour: str = "ink", *, label: str = "", name: str = "", hover: Iterable[Row] = (),
    points: Iterable[Sequence[float]] = (), **more: Any,
) -> Mark:  # fmt: skip
    """Any mark. Positions and options go by name; those that are None or False are left out.

    A bar's length is its value, so that it needs a linear axis that holds zero; a dot stands where a bar would end, on any axis. Cells
    are things drawn one by one: `grid` columns and rows of them between x0 and x1 (and y0 and y1, or in the row y), from `start` on.

    Options: shape, size, dash, emphasis, pattern, hollow, role, distance (of a prediction), tags (words after a bar's
    value), thin (an interval over its bar), slot (i of n bars in one row), along (a line's words follow it), arrow (a head in a line's
    middle), drag (the dial it stands for: `widget.hold`), edge (a rule at the foot of its row),
    solid (an area that hides what is under it), deep (one of
    two tones of neighbouring areas), opens (a page of this site that a click or Enter leads
    to), id (keeps the node).
    """
    options = {key: value for key, value in more.items() if value is not None and value is not False}
    places = tuple((key, options.pop(key)) for key in ("x", "y", "x0", "x1", "y0", "y1") if key in options)
    return Mark(type, colour, places, tuple(tuple(p) for p in points), label, name, tuple(hover), tuple(options.items()))


@dataclass(frozen=True, slots=True)
class Figure:
    id: str
    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    text: str  # one sentence with the figures of the picture: its name for those who can't see it
    table: Table
    note: str = ""
    legend: tuple[dict[str, Any], ...] = ()
    # height, ratio (height of width), width ("half"), stacked, counted (things, so no ticks), plain (no axes), tab, alone (its tab on a
    # phone), caption
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.text.strip() or not self.title.strip():
            missing = "text" if self.title.strip() else "title"
            raise BadValue(f"figure {self.id!r} has no {missing}; a picture needs words that say what it shows")
        if not self.marks:
            raise BadValue(f"figure {self.id!r} has no marks; give it at least one")
        for item in self.marks:
            if item.type == "bar":
                self._check_bar(item)
            self._check_holds(item)
            for key, value in item.at:
                axis = self.x if key.startswith("x") else self.y
                if not axis.holds(value):
                    raise BadValue(f"figure {self.id!r}: a {item.type} is at {key} = {value!r}, which its {axis.scale} axis does not hold")
            for point in item.points:
                if not (self.x.holds(point[0]) and all(self.y.holds(v) for v in point[1:])):
                    raise BadValue(f"figure {self.id!r}: a {item.type} goes through {point!r}, which its axes do not hold")

    def _check_holds(self, item: Mark) -> None:
        """What turns a dial stands at one place of the dial's axis: a row's foot counts as one."""
        if not (drag := dict(item.more).get("drag")):
            return
        from ironlaw.widget.hold import MOVABLE, holds  # the first screen has nothing to drag

        for one in holds(drag):
            axis = self.x if one["axis"] == "x" else self.y
            at_place = any(key == one["axis"] for key, _ in item.at) and (axis.scale != "band" or dict(item.more).get("edge"))
            if item.type not in MOVABLE or not at_place:
                raise BadValue(
                    f"figure {self.id!r}: a {item.type} stands for the dial {one['dial']!r} along {one['axis']}, "
                    f"where it has no single place; let a {' or a '.join(MOVABLE)} on that axis stand for it"
                )

    def _check_bar(self, bar: Mark) -> None:
        """Its length must mean something: no log axis, and zero on it unless the bar says where it begins. An interval is not a length."""
        along, axis = ("x", self.x) if self.y.scale == "band" else ("y", self.y)
        if dict(bar.more).get("thin"):
            return
        if axis.scale == "log":
            raise BadValue(f"figure {self.id!r}: a bar on a log axis has no true length; draw a dot")
        begins = any(key == f"{along}0" for key, _ in bar.at)
        if not begins and axis.domain is not None and not axis.domain[0] <= 0 <= axis.domain[1]:
            raise BadValue(f"figure {self.id!r}: a bar on an axis from {axis.domain[0]:g} to {axis.domain[1]:g}; let the axis hold zero")

    def to_dict(self) -> dict[str, Any]:
        table = {"columns": list(self.table.columns), "rows": [list(row) for row in self.table.rows]}
        out = {
            "id": self.id, "title": self.title, "x": _axis(self.x), "y": _axis(self.y), "marks": [m.to_dict() for m in self.marks],
            "text": spoken(self.text), "table": table, **self.more,
        }  # fmt: skip
        if self.note:
            out["note"] = self.note
        if self.legend:
            out["legend"] = [dict(item) for item in self.legend]
        return out


def tabbed(figure: Figure, name: str) -> Figure:
    """The same picture, and what its tab is called where an instrument has several. A title may change with the dials; a tab stays."""
    same = copy(figure)  # its marks have been checked
    object.__setattr__(same, "more", {**figure.more, "tab": name})
    return same


def halved(figure: Figure, name: str) -> Figure:
    """The same picture at half the width: two of one tab's name stand beside each other."""
    same = tabbed(figure, name)
    object.__setattr__(same, "more", {**same.more, "width": "half", "alone": figure.title})
    return same


def captioned(figure: Figure, sentence: str) -> Figure:
    """The same picture with a sentence under its title that says what to notice; HTML."""
    same = copy(figure)
    object.__setattr__(same, "more", {**figure.more, "caption": sentence})
    return same


def _axis(axis: Axis) -> dict[str, Any]:
    out: dict[str, Any] = {"scale": axis.scale, "label": axis.label, "unit": axis.unit}
    if axis.domain:
        out["domain"] = list(axis.domain)
    if axis.names:
        out["names"] = list(axis.names)
    if axis.ticks:
        out["ticks"] = list(axis.ticks)
    return out
