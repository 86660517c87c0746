"""A hundred people of each group, one by one: missed, rightly flagged, wrongly flagged, left alone. A rate lights those it is a share of.

In this order the true cases, the flagged and the others each stand together. Colour is what is true, an outline is not flagged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ironlaw.engine.parity.rates import Table as Counts
from ironlaw.errors import unknown
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact

GRID = (25, 4)  # people in a line, and lines
ACROSS = float(GRID[0])
WHOM = {"fpr": ("fp", "tn"), "fnr": ("fn", "tp"), "ppv": ("tp", "fp")}  # rate -> the kind that it counts, and the rest it is a share of
LOOKS = {"fn": ("compute", True), "tp": ("compute", False), "fp": ("overhead", False), "tn": ("overhead", True)}


@dataclass(frozen=True, slots=True)
class Kinds:
    """What the four kinds of people are called."""

    fn: str
    tp: str
    fp: str
    tn: str


def people(groups: Mapping[str, Counts], kinds: Kinds, title: str, *, rate: str = "", note: str = "", id: str = "people") -> Figure:
    """`groups`: name -> its table. `rate`: fpr, fnr or ppv, lit and written behind each group; none lights everybody."""
    if rate and rate not in WHOM:
        raise unknown("rate", rate, WHOM)
    shares = {name: _shares(table) for name, table in groups.items()}
    marks = [item for name, each in shares.items() for item in _people(name, each, kinds, rate)]
    behind = {name: _percent(100 * getattr(table, rate)) for name, table in groups.items()} if rate else {}
    marks += [mark("label", "ink", x=ACROSS, y=name, id=f"{name}-rate", label=value) for name, value in behind.items()]
    rows = tuple((name, getattr(kinds, kind), _percent(share)) for name, each in shares.items() for kind, share in each.items())
    words = [
        f"{name}: " + ", ".join(f"{getattr(kinds, kind)} {_percent(share)}" for kind, share in each.items())
        + (f"; {getattr(kinds, WHOM[rate][0])}, of those lit: {behind[name]}" if rate else "")
        for name, each in shares.items()
    ]  # fmt: skip
    legend = tuple({"colour": LOOKS[kind][0], "shape": "person", "hollow": LOOKS[kind][1], "label": getattr(kinds, kind)} for kind in LOOKS)
    return Figure(
        id, title, Axis("linear", "each is one person in a hundred", "", (0.0, ACROSS + 3.0)),
        Axis("band", names=tuple(groups)), tuple(marks), "; ".join(words) + ".",
        Table(("group", "who", "of the group"), rows), note, legend, {"stacked": True, "counted": True, "row": 124},
    )  # fmt: skip


def _shares(table: Counts) -> dict[str, float]:
    return {kind: 100 * getattr(table, kind) / table.people for kind in LOOKS}


def whole(shares: Mapping[str, float]) -> dict[str, int]:
    """A hundred people in all: each share rounded down, and those that lost most by it get one more."""
    counts = {kind: math.floor(share + 1e-9) for kind, share in shares.items()}
    most = sorted(shares, key=lambda kind: counts[kind] - shares[kind])
    for kind in most[: 100 - sum(counts.values())]:
        counts[kind] += 1
    return counts


def _people(row: str, shares: Mapping[str, float], kinds: Kinds, rate: str) -> list[Mark]:
    marks, at = [], 0
    for kind, count in whole(shares).items():
        colour, outline = LOOKS[kind]
        if count:
            marks.append(
                mark(
                    "cells", colour, x0=0.0, x1=ACROSS, y=row, grid=GRID, start=at, count=count, shape="person",
                    id=f"{row}-{kind}", name=getattr(kinds, kind), hollow=outline, emphasis=bool(rate) and kind in WHOM[rate],
                    hover=[("group", row), ("of a hundred", str(count)), ("exactly", exact(shares[kind], "%"))],
                )
            )  # fmt: skip
        at += count
    return marks


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{significant(value)}%"
