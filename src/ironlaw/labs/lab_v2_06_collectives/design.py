"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent, show

SUMS = ("ranks", "alpha_s", "beta_bytes_per_s", "crossing_bytes")
STEP = (
    "model", "box", "devices", "tensor", "data", "micro", "seq", "zero", "gradient_bytes", "bucket_bytes", "algorithm", "order",
    "network_alpha_s", "network_beta_bytes_per_s", "exposed_s", "exposed_share", "latency_share", "step_s", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: V2-05 starts from the model, the devices, the groups and the network."""
    return lab.fields(act1=SUMS, act2=STEP)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    sums, step = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    cross = sums.get("crossing_bytes")
    rows = [("They cross", (show(float(cross), "B") if cross else "nowhere") if sums else "open", "")]
    if not step:
        return [*rows, ("Latency", "open", ""), ("Exposed", "open", "")]
    tone = "fail" if step["constraint_hit"] else ""
    return [
        *rows,
        ("Latency", percent(step["latency_share"]), ""),
        ("Exposed", percent(step["exposed_share"]), tone),
    ]
