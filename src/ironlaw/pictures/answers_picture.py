"""Shares as they were computed, and under each what the learner said."""

from __future__ import annotations

from collections.abc import Mapping

from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import exact


def answers(rows: Mapping[str, tuple[float, str, float | None]], title: str, *, what: str, id: str = "said") -> Figure:
    """`rows`: name -> (percent, colour, what was said or None where nothing was). `what`: the first column of the table."""
    bars: dict[str, tuple[float, str]] = {}
    for name, (true, colour, said) in rows.items():
        bars[name] = true, colour
        if said is not None:
            bars[f"{name}: you said"] = said, "accent"
    marks = tuple(
        mark("bar", colour, x=value, y=name, id=name, name=name, label=f"{significant(value)} %", hover=[("share", exact(value, "%"))])
        for name, (value, colour) in bars.items()
    )
    words = "; ".join(f"{name} {significant(value)} %" for name, (value, _) in bars.items())
    table = tuple((name, f"{significant(value)} %", exact(value, "%")) for name, (value, _) in bars.items())
    return Figure(
        id, title, Axis("linear", "share", "%", (0.0, 100.0)), Axis("band", names=tuple(bars)), marks, f"{words}.",
        Table((what, "share", "exactly"), table),
    )  # fmt: skip
