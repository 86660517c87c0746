"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_02_interconnect.act1 import slots as first
from ironlaw.registry.boxes import box, boxes
from ironlaw.units import percent, show

RING = ("ranks", "bus_bytes_per_s", "beta_bytes_per_s", "alpha_s", "alpha_step_s")
GROUPS = (
    "model", "box", "boxes", "nics", "tensor", "data", "micro", "seq", "zero", "overlap", "tensor_share", "communication_share", "step_s",
    "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: V2-06 starts from the box, its ranks, NICs, α and β, V2-05 from the groups, V2-07 from
    the rate to the host."""
    return lab.fields(act1=RING, act2=GROUPS) | {"host_bytes_per_s": host_rate(lab.readouts.get("act2", {}).get("box"))}


def host_rate(slug: str | None) -> float | None:
    """Between a device and its host: the bridge of the box."""
    bridge = box(slug).bridge if slug in boxes() else None
    return bridge.achieved if bridge else None


def measured(lab: kit.Lab) -> dict[str, str]:
    """For the receipt: what was measured of the same quantity."""
    _, four = first.timed(first.PAIRS, first.RANKS)
    return {"act1": f"{show(four, 'B/s')}, NCCL on four A100s in pairs (Vidur); the wire's rate here was fitted to it"}


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    ring, groups = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Bus", show(ring["bus_bytes_per_s"], "B/s") if ring else "open", "")]
    if not groups:
        return [*rows, ("Groups", "open", ""), ("On wires", "open", "")]
    return [
        *rows,
        ("Groups", f"TP {groups['tensor']} × DP {groups['data']}", ""),
        ("On wires", percent(groups["communication_share"]), "fail" if groups["constraint_hit"] else ""),
    ]
