"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent, significant

FABRIC = ("hosts", "per_leaf", "oversubscription", "kind", "scattered", "factor", "seconds")
CLUSTER = (
    "radix", "tiers", "leaf_thin", "pod_thin", "rails", "link_bytes_per_s", "placed_scattered", "collisions", "experts", "top_k", "ports",
    "dense_factor", "experts_factor", "pipeline_factor", "exchange_share", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read."""
    return lab.fields(act1=FABRIC, act2=CLUSTER)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    fabric, cluster = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Factor", f"{significant(fabric['factor'])}×" if fabric else "open", "")]
    if not cluster:
        return [*rows, ("Ports", "open", ""), ("All-to-all", "open", "")]
    from ironlaw.labs.lab_v2_03_fabric.act2.verdict import NO_TREE, PORTS, SATURATED  # here: the act is not open yet at first

    return [
        *rows,
        ("Ports", f"{cluster['ports']:,}", "fail" if cluster["constraint_hit"] in (PORTS, NO_TREE) else ""),
        ("All-to-all", percent(cluster["exchange_share"]), "fail" if cluster["constraint_hit"] == SATURATED else ""),
    ]
