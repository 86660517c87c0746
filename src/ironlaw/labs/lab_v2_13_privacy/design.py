"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent, significant

ONE = ("run_rate", "run_noise", "run_steps", "run_delta", "run_accountant", "run_epsilon")
TWO = (
    "records", "rate", "noise", "clip", "epochs", "runs", "delta", "accountant", "epsilon", "accuracy", "attack", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return lab.fields(act1=ONE, act2=TWO)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("ε of the run", significant(one["run_epsilon"]) if one else "open", "")]
    if not two:
        return [*rows, ("ε of all runs", "open", ""), ("Accuracy", "open", "")]
    hit = two["constraint_hit"]
    return [
        *rows,
        ("ε of all runs", significant(two["epsilon"]), "fail" if hit in ("delta", "unproven", "overspent") else ""),
        ("Accuracy", percent(two["accuracy"]), "fail" if hit in ("noise_only", "clipped", "floor") else ""),
    ]
