"""Time saved against days: it starts at minus the cost of compiling, crosses zero at the break-even, and goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity


@dataclass(frozen=True, slots=True)
class Crossing:
    """The break-even point."""

    days: float  # inf: never
    calls: float


def saving(net: Callable[[float], float], days: float, crossing: Crossing, lasting: str = "", id: str = "saving") -> Figure:
    """`net(days)` in seconds; `lasting`: the deployment in words.

    Below zero is cost, above it saved time; the text states both ends and the crossing.
    """
    pays = crossing.days <= days
    end = days if pays or not math.isfinite(crossing.days) else crossing.days * 1.15
    start, final, stop = net(0.0), net(days), net(end)
    cross = crossing.days if crossing.days <= end else end
    marks: list[Mark] = [
        mark("area", "fail", points=[(0.0, start, 0.0), (cross, min(net(cross), 0.0), 0.0)], id="cost"),
        *([mark("area", "good", points=[(cross, 0.0, 0.0), (end, 0.0, stop)], id="gain")] if stop > 0 else []),
        mark("rule", "ink", y=0.0, label="earned back", name="zero", id="zero", hover=[("saved", "nothing yet")]),
        mark("line", "ink", points=[(0.0, start), (end, stop)], label="time saved", id="net"),
        mark(
            "rule", "accent", x=days, dash=True, label=f"ends after {lasting or _days(days)}", name="end of the deployment", id="end",
            hover=[("days", exact(days)), ("net", exact(final, "s"))],
        ),
        mark(
            "point", "fail", x=0.0, y=start, shape="square", size=5, id="start", name="cost of compiling", 
            label=f"−{format_quantity(-start, 's')}" if cross > end / 20 else "",
            hover=[("cost", exact(-start, "s"))],
        ),
    ]  # fmt: skip
    if math.isfinite(crossing.days):
        when = f"day {significant(crossing.days)}" if crossing.days >= 1 else f"after {_days(crossing.days)}"
        label = f"{when}, call {crossing.calls:,.0f}"
        hover = [("day", exact(crossing.days)), ("calls", exact(crossing.calls))]
        at: dict[str, Any] = {"x": crossing.days, "y": 0.0, "shape": "diamond", "size": 7, "id": "cross"}
        marks.append(mark("point", "good" if pays else "fail", **at, name="break-even", label=label, hover=hover))
    verdict = f"{'saves' if final > 0 else 'loses'} {format_quantity(abs(final), 's')} by the end of {lasting or _days(days)}"
    broken = (
        f"breaks even after {_days(crossing.days)}, at call {crossing.calls:,.0f}" if math.isfinite(crossing.days) else "never breaks even"
    )
    rows = [("begins at", "0", exact(start, "s")), ("deployment ends", exact(days), exact(final, "s"))]
    if math.isfinite(crossing.days):
        rows.insert(1, ("break-even", exact(crossing.days), "0"))
    return Figure(
        id, "Time saved, day by day", Axis("linear", "days", domain=(0.0, end)), Axis("linear", "net time saved", "s"), tuple(marks),
        f"Begins at minus {format_quantity(-start, 's')}, {broken}, and {verdict}.", Table(("moment", "day", "net seconds"), tuple(rows)),
        f"✓ net positive: {verdict}" if final > 0 else f"✗ net negative: {verdict}",
        ({"colour": "good", "label": "saved"}, {"colour": "fail", "label": "cost"}), {"height": 300},
    )  # fmt: skip


def _days(days: float) -> str:
    return format_quantity(days * 86400.0, "s") if days < 2 else f"{significant(days)} days"
