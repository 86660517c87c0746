"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import show, significant

FIELDS = (
    "policy", "most", "replicas", "rate", "workload", "mode", "timeout_s", "target_p99_s", "p99_s", "mean_s", "load", "busy",
    "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: Lab 14 starts from the policy and the rate."""
    server = lab.readouts.get("act2", {})
    return {
        "context": lab.current_context.slug,
        **{name: server.get(name) for name in FIELDS},
        **lab.outcomes("act1", "act2"),
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    line, server = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [
        ("L = λW", f"{significant(line['in_flight'])} = {significant(line['rate'])} × {show(line['seconds'], 's')}" if line else "open", "")
    ]
    if not server:
        return [*rows, ("P99", "open", ""), ("Busy", "open", ""), ("Loaded", "open", "")]
    hit, p99 = server["constraint_hit"], server["p99_s"]
    return [
        *rows,
        ("P99", "unbounded" if p99 is None else show(p99, "s", 2), "fail" if hit else "good"),
        ("Busy", f"{100 * server['busy']:.0f}%", ""),
        ("Loaded", f"{significant(100 * server['load'])}%", "fail" if server["load"] >= 1 else ""),
    ]
