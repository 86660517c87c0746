"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent, show, significant

ONE = ("gain", "elasticity_low", "elasticity_high", "share", "pass_through", "cost_change", "energy_ratio")
TWO = (
    "machine",
    "model",
    "limit",
    "servers",
    "devices",
    "region",
    "grams_per_kwh",
    "pue",
    "passed",
    "deferrable",
    "years",
    "joules_per_token",
    "kwh_year",
    "power_w",
    "p99_s",
    "tonnes_low",
    "tonnes",
    "constraint_hit",
)


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return lab.fields(act1=ONE, act2=TWO)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    ratio = float(one.get("energy_ratio") or 0.0)
    rows = [("Energy", percent(ratio) if one else "open", "fail" if ratio > 1 else "")]
    if not two:
        return [*rows, ("Carbon", "open", ""), ("Power", "open", "")]
    hit = two["constraint_hit"]
    return [
        *rows,
        ("Carbon", f"{significant(two['tonnes'])} t", "fail" if hit else "good"),
        ("Power", show(two["power_w"], "W"), "fail" if hit == "power" else ""),
    ]
