"""Act I's pictures: the ratio that was asked for, and every rate of both groups. The rays are a picture of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rates import Table, odds
from ironlaw.labs.lab_15_parity.data import people
from ironlaw.pictures.ends import snug
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.figure import Table as Figures
from ironlaw.widget.quantities import exact, format_quantity

ENDS = (0.1, 10.0)
HERE = "false alarms, drawn anew here"


class Drawn(NamedTuple):
    """A ratio from the learner's own machine, and where 95% of the draws lie."""

    value: float
    low: float
    high: float
    source: str


def ratio(groups: Sequence[Group], tables: Sequence[Table], marks: Sequence[Mark] = (), drawn: Drawn | None = None) -> Figure:
    """How many times as often one group is wrongly flagged, beside the ratio of the odds that equal precision and misses force."""
    rows = {
        "false alarms, as set": _over(tables[0].fpr, tables[1].fpr),
        "odds of the base rates": odds(groups[0].base) / odds(groups[1].base),
    }
    bars = [
        mark(
            "point",
            "accent" if i == 0 else "ridge",
            size=8,
            x=min(ENDS[1], max(ENDS[0], value)),
            y=name,
            id=f"ratio-{i}",
            name=name,
            label=format_quantity(value, "×"),
            hover=[(f"{groups[0].name} compared with {groups[1].name}", exact(value, "×"))],
        )
        for i, (name, value) in enumerate(rows.items())
        if math.isfinite(value) and value > 0
    ]
    if drawn:
        rows[HERE] = drawn.value
        bars += _whisker(drawn)
    said = "; ".join(f"{name} {format_quantity(value, '×') if math.isfinite(value) else 'undefined'}" for name, value in rows.items())
    at = [1.0, *(value for one in (*bars, *marks) for key, value in one.at if key.startswith("x"))]  # a ratio is read from 1 on
    return Figure(
        "ratio",
        f"False alarms among {people(groups[0].name)}, compared with {people(groups[1].name)}",
        Axis("log", "ratio", "×", snug(0.9 * min(at), 1.1 * max(at))),
        Axis("band", names=tuple(rows)),
        (mark("rule", "muted", x=1.0, dash=True, id="equal", name="equally often"), *bars, *marks),
        f"{said}.",
        Figures(("what", "ratio"), tuple((name, exact(value, "×") if math.isfinite(value) else "–") for name, value in rows.items())),
        "your mark and the answer are for the question's groups" if marks else "",
        more={"row": 44},
    )


def _whisker(drawn: Drawn) -> list[Mark]:
    low, value, high = (min(ENDS[1], max(ENDS[0], end)) for end in (drawn.low, drawn.value, drawn.high))
    hover = [("95% of the draws", f"{exact(drawn.low, '×')} to {exact(drawn.high, '×')}"), ("measured", drawn.source)]
    return [
        mark("bar", "here", x0=low, x1=max(high, 1.0001 * low), y=HERE, thin=True, id="here-band", name=HERE, hover=hover),
        mark(
            "point",
            "here",
            x=value,
            y=HERE,
            shape="square",
            size=6,
            id="here",
            name=HERE,
            label=format_quantity(drawn.value, "×"),
            hover=hover,
        ),
    ]


def _over(a: float, b: float) -> float:
    return a / b if b and not math.isnan(a) and not math.isnan(b) else math.nan
