"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import show

CAPACITY = ("context_tokens", "slots", "cache_bytes", "weights", "cache", "block")
SERVER = (
    "model", "machine", "devices", "replicas", "rate", "most", "budget", "chunked", "scheduling", "preemption", "ttft_p99_s", "tbt_p99_s",
    "tokens_per_s", "device_s_per_million", "preempted", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return lab.fields(act1=CAPACITY, act2=SERVER)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    capacity, server = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Fit", f"{capacity['slots']:,} requests" if capacity else "open", "")]
    if not server:
        return [*rows, ("First token", "open", ""), ("Between tokens", "open", "")]
    hit = server["constraint_hit"]
    if server["ttft_p99_s"] is None:
        from ironlaw.labs.lab_v2_10_kv_serving.act2.verdict import LIMITS  # here: the act is not open yet when this file is imported

        return [*rows, ("Server", next(limit.title for limit in LIMITS if limit.name == hit), "fail")]
    return [
        *rows,
        ("First token", server["ttft_said"], "fail" if hit in ("ttft", "unstable", "thrash") else "good"),
        ("Between tokens", server["tbt_said"], "fail" if hit == "tbt" else ""),
        ("A million tokens", show(server["device_s_per_million"], "s"), ""),
    ]
