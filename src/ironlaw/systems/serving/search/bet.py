"""Which machine's deployment a team would bet on, and which others may turn out as good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import AnswerJson, CapacityChoice


def bet(rows: Sequence[CapacityChoice], fleet: bool) -> AnswerJson:
    """The cheapest of those that meet the SLO even if steps take as long as they may; where none does, the cheapest as predicted. A tie:
    another that costs no more as predicted. Without any price, the fewest devices; of a fleet, the largest rate."""
    if fleet:
        return _largest(rows)
    priced = [row for row in rows if row["dollars_per_hour"] is not None]
    ranked = priced or rows

    def cost(row: CapacityChoice, devices: float) -> float:
        return devices * (row["dollars_per_hour"] or 0.0) / row["devices"] if priced else devices

    sure = [row for row in ranked if row["safe"] is not None]
    best = min(sure or ranked, key=lambda row: (cost(row, planned(row)), planned(row), cost(row, row["devices"])))
    most = cost(best, planned(best))
    ties = sorted((row for row in ranked if row is not best and cost(row, row["devices"]) <= most), key=lambda r: cost(r, r["devices"]))
    return {
        "hardware": best["hardware"], "devices": planned(best), "sure": bool(sure), "by": "dollars" if priced else "devices",
        "ties": [row["hardware"] for row in ties],
    }  # fmt: skip


def planned(row: CapacityChoice) -> int:
    """Devices to plan with."""
    return row["safe"]["devices"] if row["safe"] else row["devices"]


def _largest(rows: Sequence[CapacityChoice]) -> AnswerJson:
    """By the lower end of the rates; only an upper one is known of a machine of which only the datasheet is."""
    sure = [row for row in rows if row["basis"] != "bound"]
    low = {row["hardware"]: (row["between"]["largest_rate"][0] or 0.0) if row["largest_rate"] is not None else 0.0 for row in rows}
    best = max(sure or rows, key=lambda row: (low[row["hardware"]], row["largest_rate"] or 0.0))
    ties = [row for row in rows if row is not best and (row["largest_rate"] or 0.0) >= low[best["hardware"]]]
    return {
        "hardware": best["hardware"], "devices": best["devices"], "sure": bool(sure), "by": "rate",
        "ties": [row["hardware"] for row in sorted(ties, key=lambda row: -(row["largest_rate"] or 0.0))],
    }  # fmt: skip
