"""What a million samples or tokens cost, in the terminal: the best of each machine, the cheapest of all, and whose prices these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.report.cost_words import lead, sources, verdict
from ironlaw.units import show, significant


def report(about: Mapping[str, Any]) -> None:
    draw.heading("costs", lead(about))
    rows = about["best"] or about["rows"]
    if not rows:
        draw.say("No single machine holds the model, so none has a price; above is how many of them would.", draw.BAD)
        return
    draw.table(("machine", "mode", "batch", "per call", "dollars", "energy ≤"), [_cells(row) for row in rows], left=("machine", "mode"))
    draw.say(verdict(about), draw.BAD if about["cheapest"] and about["cheapest"]["over_s"] else draw.GOOD)
    draw.say(" ".join((sources(about), f"Energy: {about['energy']}.")), draw.DIM)


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    dollars, late = row["dollars_per_million"], row["meets"] is False
    batch = "–" if row["batch"] is None else f"{row['batch']:,}"
    stored = "" if row["weights"] == OWN else f", {row['weights']}"
    return (
        row["hardware"], row["mode"] + stored, batch, (f"{show(row['seconds'], 's')} ✗", draw.BAD) if late else show(row["seconds"], "s"),
        "–" if dollars is None else (f"${significant(dollars)}", draw.STRONG), show(row["joules_per_million"], "J"),
    )  # fmt: skip
