"""Constraints on one axis: how much room each has, as a share of its own limit. Left of the line it is broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark

WORST, BEST = -1.0, 1.0  # shares of a limit between which margins are drawn; what is beyond stands at the end


@dataclass(frozen=True, slots=True)
class Margin:
    """`room`: share of the limit, below 0 where it is broken; `value` and `limit` in words."""

    name: str
    room: float
    value: str
    limit: str


def margins(rows: Sequence[Margin], title: str = "Room under each limit", id: str = "margins", note: str = "") -> Figure:
    if not rows:
        raise BadValue(f"{title}: no constraint; give at least one")
    marks: list[Mark] = []
    for row in rows:
        at, held = min(max(row.room, WORST), BEST), row.room >= 0
        x0, x1 = sorted((0.0, 100 * at))
        hover = [("is", row.value), ("limit", row.limit), ("room", _percent(row.room))]
        marks.append(mark("bar", "good" if held else "fail", x0=x0, x1=x1, y=row.name, id=row.name, name=row.name, pattern=not held,
                          hover=hover))  # fmt: skip
        marks.append(mark("label", "ink", x=max(0.0, 100 * at), y=row.name, id=f"{row.name}-value", label=_words(row)))
    marks.append(mark("rule", "ink", x=0.0, id="limit", name="the limit", label="limit"))
    table = Table(
        ("constraint", "is", "limit", "room", "holds"),
        tuple((row.name, row.value, row.limit, _percent(row.room), "yes" if row.room >= 0 else "no") for row in rows),
    )
    broken = [f"{row.name} {row.value} of {row.limit}" for row in rows if row.room < 0]
    tight = min((row for row in rows if row.room >= 0), key=lambda row: row.room, default=None)
    text = f"Broken: {'; '.join(broken)}." if broken else "All limits hold."
    if tight is not None:
        text += f" The tightest that holds is {tight.name}, {tight.value} of {tight.limit}."
    legend = ({"colour": "good", "label": "room left"}, {"colour": "fail", "pattern": True, "label": "over the limit"})
    return Figure(
        id, title, Axis("linear", "room, of the limit", "%", (100 * WORST, 200.0), ticks=(-100.0, -50.0, 0.0, 50.0, 100.0)),
        Axis("band", names=tuple(row.name for row in rows)), tuple(marks), text, table, note, legend, {"row": 30},
    )  # fmt: skip


def _words(row: Margin) -> str:
    return f"{row.value} of {row.limit}"


def _percent(room: float) -> str:
    if room <= 100 * WORST:
        return "far beyond"
    return f"{'−' if room < 0 else ''}{significant(abs(100 * room))}%"
