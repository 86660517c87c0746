"""What a million samples or tokens cost on each machine: a table, the cheapest in a sentence, and whose prices these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.report.cost_words import lead, sources, verdict
from ironlaw.report.markup import Cell, paragraph, table
from ironlaw.units import show, significant

COLUMNS = ("machine", "mode", "batch", "a call", "dollars", "energy, at most")


def section(about: Mapping[str, Any]) -> str:
    rows = [_cells(row) for row in about["best"] or about["rows"]]
    if not rows:
        return paragraph("No machine holds it, so none has a price.")
    caption = lead(about)
    note = " ".join(filter(None, (sources(about), f"Energy: {about['energy']}.")))
    return paragraph(verdict(about)) + table(COLUMNS, rows, caption[0].upper() + caption[1:], range(2, 6)) + paragraph(note, "il-quiet")


def _cells(row: Mapping[str, Any]) -> list[Cell]:
    dollars, seconds = row["dollars_per_million"], show(row["seconds"], "s")
    return [
        row["hardware"], row["mode"], "–" if row["batch"] is None else f"{row['batch']:,}",
        (seconds, "c-fail") if row["meets"] is False else seconds,
        "–" if dollars is None else f"${significant(dollars)}", show(row["joules_per_million"], "J"),
    ]  # fmt: skip
