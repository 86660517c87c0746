"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent, show, significant

ONE = ("steps", "calls", "law", "dependence", "quantile", "one_s", "whole_s", "over")
TWO = (
    "layers", "load", "rate_per_s", "together", "retries", "retry_layers", "retry_budget",
    "timeout_s", "line_limit", "hedge", "replicas", "latency_p999_s",
    "availability", "back_s", "late_load", "copies", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return lab.fields(act1=ONE, act2=TWO)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    level = f"P{significant(100 * one['quantile'], 4)}" if one else "P99"
    rows = [(f"{level} of the whole", show(one["whole_s"], "s") if one else "open", "")]
    if not two:
        return [*rows, ("Recovers after", "open", ""), ("Available", "open", "")]
    hit, back = two["constraint_hit"], two["back_s"]
    return [
        *rows,
        ("Recovers after", "over 60 s" if back is None else show(back, "s"), "fail" if hit in ("storm", "slow_return") else ""),
        ("P99.9", "unbounded" if two["latency_p999_s"] is None else show(two["latency_p999_s"], "s"), "fail" if hit == "slo" else ""),
        ("Available", percent(two["availability"], 6), "fail" if hit == "availability" else ""),
    ]
