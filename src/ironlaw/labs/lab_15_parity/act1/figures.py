"""Act I's pictures: the ratio that was asked for, and every rate of both groups. The rays are a picture of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ironlaw.engine.numerics.shares import wilson
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rates import Table, odds
from ironlaw.labs.lab_15_parity.data import hits
from ironlaw.pictures.rays import COLOURS
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.figure import Table as Figures
from ironlaw.widget.quantities import THIN, exact, format_quantity

ENDS = (0.1, 10.0)


def ratio(groups: Sequence[Group], tables: Sequence[Table], marks: Sequence[Mark] = ()) -> Figure:
    """How many times as often one group is wrongly flagged, beside the ratio of the odds that equal precision and misses force."""
    rows = {
        "false positives, as set": _over(tables[0].fpr, tables[1].fpr),
        "odds of the base rates": odds(groups[0].base) / odds(groups[1].base),
    }
    bars = [
        mark(
            "bar",
            "accent" if i == 0 else "muted",
            x=min(ENDS[1], max(ENDS[0], value)),
            y=name,
            id=f"ratio-{i}",
            name=name,
            label=format_quantity(value, "×"),
            hover=[(f"{groups[0].name} over {groups[1].name}", exact(value, "×"))],
        )
        for i, (name, value) in enumerate(rows.items())
        if math.isfinite(value) and value > 0
    ]
    said = "; ".join(f"{name} {format_quantity(value, '×') if math.isfinite(value) else 'undefined'}" for name, value in rows.items())
    return Figure(
        "ratio",
        f"{groups[0].name} over {groups[1].name}",
        Axis("log", "ratio", "×", ENDS),
        Axis("band", names=tuple(rows)),
        (*bars, *marks),
        f"{said}.",
        Figures(("what", "ratio"), tuple((name, exact(value, "×") if math.isfinite(value) else "–") for name, value in rows.items())),
        "both marks are for the question's own case" if marks else "",
        more={"row": 44},
    )


def _over(a: float, b: float) -> float:
    return a / b if b and not math.isnan(a) and not math.isnan(b) else math.nan


def rates(groups: Sequence[Group], tables: Sequence[Table], names: Mapping[str, str]) -> Figure:
    """Six rates, a bar for each group, with the interval of its count."""
    bars, rows, words = [], [], []
    for rate, name in names.items():
        for i, (group, table) in enumerate(zip(groups, tables, strict=True)):
            right, of = hits(table, rate)
            label, interval = f"{name}, {group.name}", "nobody to count"
            if of >= 1:
                sure = wilson(min(right, of), of)
                interval = f"{significant(100 * sure.low)} to {significant(100 * sure.high)}{THIN}%"
                share = 100 * right / of
                hover = [("exactly", exact(share, "%")), ("95 %", interval), ("counted", f"{right:,.0f} of {of:,.0f}")]
                at = f"{rate}-{i}"
                bars += [
                    mark("bar", COLOURS[i], x=share, y=label, id=at, name=label, label=f"{significant(share)}{THIN}%", hover=hover),
                    mark(
                        "bar", "ink", x0=100 * sure.low, x1=100 * sure.high, y=label, id=f"{at}-95", name=f"{label}, 95 %", thin=True,
                        hover=hover,
                    ),
                ]  # fmt: skip
                words.append(f"{label} {significant(share)}{THIN}%")
            rows.append((label, f"{significant(100 * right / of)}{THIN}%" if of >= 1 else "–", interval))
    return Figure(
        "rates",
        "Every rate, by group",
        Axis("linear", "share", "%", (0.0, 112.0), ticks=(0.0, 25.0, 50.0, 75.0, 100.0)),
        Axis("band", names=tuple(row[0] for row in rows)),
        tuple(bars),
        "; ".join(words) + ".",
        Figures(("rate", "share", "95 %"), tuple(rows)),
        f"thin: where the true rate lies, 95{THIN}% sure",
        more={"row": 34},
    )
