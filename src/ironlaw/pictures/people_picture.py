"""A hundred people of each group as one bar: missed, rightly flagged, wrongly flagged, left alone. A rate lights those it is a share of.

In this order the true cases, the flagged and the others each stand together. Colour is what is true, hatching is not flagged.
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
    """`groups`: name -> its table. `rate`: fpr, fnr or ppv, lit and written behind each bar; none lights everybody."""
    if rate and rate not in WHOM:
        raise unknown("rate", rate, WHOM)
    shares = {name: _shares(table) for name, table in groups.items()}
    marks = [item for name, each in shares.items() for item in _bars(name, each, kinds, rate)]
    behind = {name: _percent(100 * getattr(table, rate)) for name, table in groups.items()} if rate else {}
    marks += [mark("label", "ink", x=100.0, y=name, id=f"{name}-rate", label=value) for name, value in behind.items()]
    rows = tuple((name, getattr(kinds, kind), _percent(share)) for name, each in shares.items() for kind, share in each.items())
    words = [
        f"{name}: " + ", ".join(f"{getattr(kinds, kind)} {_percent(share)}" for kind, share in each.items())
        + (f"; {getattr(kinds, WHOM[rate][0])}, of those lit: {behind[name]}" if rate else "")
        for name, each in shares.items()
    ]  # fmt: skip
    legend = tuple({"colour": LOOKS[kind][0], "pattern": LOOKS[kind][1], "label": getattr(kinds, kind)} for kind in LOOKS)
    return Figure(
        id, title, Axis("linear", "of the group", "%", (0.0, 112.0), ticks=(0.0, 25.0, 50.0, 75.0, 100.0)),
        Axis("band", names=tuple(groups)), tuple(marks), "; ".join(words) + ".",
        Table(("group", "who", "of the group"), rows), note, legend, {"stacked": True, "row": 44},
    )  # fmt: skip


def _shares(table: Counts) -> dict[str, float]:
    return {kind: 100 * getattr(table, kind) / table.people for kind in LOOKS}


def _bars(row: str, shares: Mapping[str, float], kinds: Kinds, rate: str) -> list[Mark]:
    marks, at = [], 0.0
    for kind, share in shares.items():
        colour, hatched = LOOKS[kind]
        if share > 0:
            marks.append(
                mark(
                    "bar", colour, x0=at, x1=at + share, y=row, id=f"{row}-{kind}", name=getattr(kinds, kind), pattern=hatched,
                    emphasis=bool(rate) and kind in WHOM[rate], hover=[("group", row), ("of the group", exact(share, "%"))],
                )
            )  # fmt: skip
        at += share
    return marks


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{significant(value)}%"
