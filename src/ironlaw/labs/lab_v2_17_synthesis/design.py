"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.systems.whole import Design
from ironlaw.units import significant

RECORD = ("predictions", "sure", "sure_right", "brier", "beliefs_held", "worst_lab")
SYSTEM = (
    *Design.__dataclass_fields__, "limits_broken", "constraint_hit", "days", "gpu_hours", "carbon_g", "useful_tokens_per_s",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    record, system = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        **{name: record.get(name) for name in RECORD},
        **{("context_parallel" if name == "context" else name): system.get(name) for name in SYSTEM},
        **lab.outcomes("act1", "act2"),
        "hints": len([event for event in lab.ledger.events(lab.slug, "hint") if event.question == "act2"]),
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    record, system = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    right = f"{record['sure_right']} of {record['sure']}" if record else "open"
    rows_of = [("Sure and right", right, "")]
    if not system:
        return [*rows_of, ("Limits broken", "open", ""), ("Days", "open", "")]
    from ironlaw.labs.lab_v2_17_synthesis.act2.readings import NAMES

    hit = system["limits_broken"]
    days = f"{significant(system['days'])}" if system["days"] is not None else "never"
    return [
        *rows_of,
        ("Limits broken", f"{len(hit)} of {len(NAMES)}", "fail" if hit else "good"),
        ("Days", days, "fail" if "days" in hit else ""),
    ]
