"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.rules import RULES
from ironlaw.labs.lab_15_parity.data import points

RULE = ("rule", "thresholds", "gap_fpr", "gap_fnr", "gap_ppv", "gap_selected", "profit_share", "constraint_hit", "justification")


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read. Gaps are the rule's: the group of the highest base rate less that of the lowest."""
    rates, rule = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        "data": rates.get("data"),
        **{name: rule.get(name) for name in RULE},
        **lab.outcomes("act1", "act2"),
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    rates, rule = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    gap = rates.get("gap_fpr")
    one = ("Gap in false positives", f"{points(gap)} points" if gap is not None else "open", "")
    if not rule:
        return [one, ("Rule", "open", ""), ("Profit", "open", ""), ("Design", "open", "")]
    from ironlaw.labs.lab_15_parity.act2.verdicts import LIMITS  # here: the act is not open yet when this file is imported

    limit = next(limit for limit in LIMITS if limit.name == rule["state"])
    return [
        one,
        ("Rule", RULES[rule["rule"]], ""),
        ("Profit", f"{100 * rule['profit_share']:.3g}%", ""),
        ("Design", limit.title.lower(), limit.tone),
    ]
