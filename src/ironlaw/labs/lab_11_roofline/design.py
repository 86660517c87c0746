"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.formats import intensity_unit
from ironlaw.labs.lab_11_roofline.act2 import budget_panel, target_panel
from ironlaw.units import significant

FIRST = ("operation", "arithmetic_intensity", "bound_type", "peak_share_percent")
ACTS = ("act1", "act2")


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read. `peak_share_percent` is attainable over peak, a bound; no MFU."""
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        **{name: one.get(name) for name in FIRST},
        **lab.outcomes(*ACTS),
        "act2_decision": two.get("fusion"),
        "constraint_hit": two.get("constraint_hit", False),  # memory is the only constraint of this lab
        "oom_triggered": two.get("oom_triggered", False),
        "tokens_per_s": two.get("tokens_per_s"),
        "act2_model": two.get("model"),
        "act2_phase": two.get("phase"),
        **budget_panel.design(lab),
        **target_panel.design(lab),
        "confidences": {act: lab.confidence(act) for act in ACTS},
    }


def _unit(one: Mapping[str, Any]) -> str:
    """The unit of the intensity, whose operation ends in its number format."""
    return intensity_unit(str(one["operation"]).rpartition(" ")[2])


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    first = (
        "GEMM",
        f"{significant(one['arithmetic_intensity'])} {_unit(one)}, ≤ {significant(one['peak_share_percent'])}%" if one else "open",
        "",
    )
    if not two:
        return [first, ("Memory", "open", ""), ("Fusion", "open", ""), ("Tokens/s", "open", "")]
    out = bool(two["oom_triggered"])
    rate = "–" if out else significant(float(two["tokens_per_s"]))
    memory = ("Memory", "OOM" if out else "fits", "fail" if out else "good")
    return [first, memory, ("Fusion", "none" if two["fusion"] == "separate" else str(two["fusion"]), ""), ("Tokens/s", rate, "")]
