"""What `ironlaw levers` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import significant

WIDE = 20  # cells of the longest bar
SHOWN = 8


def report(result: Mapping[str, Any]) -> None:
    for readout in result["readouts"]:
        draw.heading(f"{readout['name']} = {_figure(readout['value'])}", "what 10% more or less of each input does to it")
        largest = max((abs(row["high"] - row["low"]) for row in readout["levers"]), default=1.0) or 1.0
        rows = [_row(row, readout["value"], largest) for row in readout["levers"][:SHOWN]]
        draw.table(("input", "lever", "10% less", "10% more", ""), rows, left=("input", ""))
    if result["limits"]:
        draw.heading("limits", "margin: the room left, as a share of the limit")
        draw.table(
            ("limit", "margin", "cheapest single fix"),
            [_limit(row) for row in result["limits"]],
            left=("limit",),
            text=("cheapest single fix",),
        )
    if result["limits"] and not result["met"]:
        draw.say(f"To meet all limits at once: {_fix(result['together'])}.", draw.STRONG)


def _row(row: Mapping[str, Any], value: float, largest: float) -> tuple[Any, ...]:
    cells = max(1, round(WIDE * abs(row["high"] - row["low"]) / largest))
    return row["input"], f"{round(row['lever'], 2) + 0.0:+.2f}", _change(row["low"], value), _change(row["high"], value), "█" * cells


def _change(new: float, old: float) -> str:
    return f"{round(100 * (new / old - 1), 1) + 0.0:+.1f}%" if old else _figure(new)


def _limit(row: Mapping[str, Any]) -> tuple[Any, ...]:
    sign = "≤" if row["kind"] == "most" else "≥"
    margin = (f"{100 * row['margin']:+.1f}%", draw.GOOD if row["margin"] >= 0 else draw.BAD)
    if row["margin"] >= 0:
        return f"{row['readout']} {sign} {_figure(row['limit'])}", margin, "none needed"
    breaks = "" if row["fix"] or not row["fix_alone"] else f"; {_fix(row['fix_alone'])} fixes it and breaks another limit"
    return f"{row['readout']} {sign} {_figure(row['limit'])}", margin, _fix(row["fix"]) + breaks


def _fix(fix: Mapping[str, Any] | None) -> str:
    return "no single input fixes it" if fix is None else f"{fix['dial']} from {_figure(fix['from'])} to {_figure(fix['to'])}"


def _figure(value: float) -> str:
    if abs(value) < 1e6 and value == int(value):
        return f"{value:,.0f}"
    return significant(value) if 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"
