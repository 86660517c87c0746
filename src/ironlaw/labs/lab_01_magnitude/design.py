"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    now = lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        **lab.outcomes("act1", "act2"),
        "act2_bottleneck": now.get("bottleneck"),
        "constraint_hit": now.get("constraint_hit", False),  # memory is the only constraint of this lab
        "oom_triggered": now.get("oom_triggered", False),
        "confidences": {act: lab.confidence(act) for act in ("act1", "act2")},
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    now = lab.readouts.get("act2", {})
    if not now:
        return [("Bottleneck", "open", ""), ("Memory", "open", "")]
    out = bool(now["oom_triggered"])
    bottleneck = ("Bottleneck", str(now["bottleneck"]), "fail" if out else "")
    return [bottleneck, ("Memory", "OOM" if out else "fits", "fail" if out else "good")]
