"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_14_tail.act1 import local_runs
from ironlaw.measure.experiments import omission
from ironlaw.units import significant
from ironlaw.widget.quantities import format_quantity

SECOND = (
    "shards", "utilisation", "hedge", "hedge_quantile", "hedge_budget", "page_p99_s", "leaf_percentile", "requests_counted",
    "constraint_hit",
)  # fmt: skip
FIRST = ("rate", "stall_s", "open_p99_s", "closed_p99_s")


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read; `here_…` are None where the learner did not measure."""
    one, two, run = lab.readouts.get("act1", {}), lab.readouts.get("act2", {}), lab.local_run("omission")
    return {
        "context": lab.current_context.slug,
        **{name: one.get(name) for name in FIRST},
        **{name: two.get(name) for name in SECOND},
        "here_open_p99_s": local_runs.p99(run, omission.OPEN) if run else None,
        "here_closed_p99_s": local_runs.p99(run, omission.CLOSED) if run else None,
        **lab.outcomes("act1", "act2"),
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    pair = f"{format_quantity(one['open_p99_s'], 's')}, test {format_quantity(one['closed_p99_s'], 's')}" if one else "open"
    rows = [("Users' P99", pair, "")]
    if not two:
        return [*rows, ("Page's P99", "open", ""), ("Backups", "open", "")]
    page = "not known" if two["page_p99_s"] is None else format_quantity(two["page_p99_s"], "s")
    stuck = two["fate"] == "stuck"
    return [
        *rows,
        ("Page's P99", page, "fail" if two["constraint_hit"] and not stuck else ""),
        ("Backups", "can get stuck" if stuck else "safe", "fail" if stuck else "good"),
        ("Shards", significant(two["shards"], 4), ""),
    ]
