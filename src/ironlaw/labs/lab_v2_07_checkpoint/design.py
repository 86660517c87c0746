"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent, show

ONE = ("save_s", "restart_s", "interval_s", "wasted")
TWO = (
    "gpus", "mtbf_s", "parameters", "state_bytes", "saving", "spares", "near", "near_interval_s", "far_interval_s", "survives",
    "storage_bytes_per_s", "goodput", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return lab.fields(act1=ONE, act2=TWO)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Save every", show(one["interval_s"], "s") if one else "open", "")]
    if not two:
        return [*rows, ("Far saves", "open", ""), ("Goodput", "open", "")]
    return [
        *rows,
        ("Far saves", f"every {show(two['far_interval_s'], 's')}", ""),
        ("Goodput", percent(two["goodput"]), "fail" if two["constraint_hit"] else ""),
    ]
