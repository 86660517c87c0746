"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.widget.quantities import format_quantity

FIELDS = ("model", "recipe", "optimiser", "micro_batch", "checkpoint", "peak_bytes", "static_bytes", "headroom_bytes")


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: Lab 10 begins with the model."""
    now = lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        **{name: now.get(name) for name in FIELDS},
        "constraint_hit": bool(now.get("constraint_hit", False)),
        **lab.outcomes("act1", "act2"),
    }


def measured(lab: kit.Lab) -> dict[str, str]:
    """For the receipt: what was measured of the same quantity."""
    return {"act1": kit.measured("training_is_four_times_inference", "the weights, a step of GPT-2 on an H200")}


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Peak ÷ weights", f"{one['multiple']:.3g}×" if one else "open", "")]
    if not two:
        return [*rows, ("Peak", "open", "")]
    return [*rows, ("Peak", format_quantity(float(two["peak_bytes"]), "B"), "")]
