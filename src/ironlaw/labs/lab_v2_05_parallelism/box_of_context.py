"""Which boxes a context stands for, and what the labs before this one left behind."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.links import Box
from ironlaw.registry.boxes import box

BOXES = {"a100_80gb_sxm": "dgx_a100", "h100_sxm": "grand_teton_h100", "h200_sxm": "dgx_h200"}
STORY = "grand_teton_h100"  # the run of Act II
LAB_06, LAB_02 = "lab_v2_06_collectives", "lab_v2_02_interconnect"


def box_of(lab: kit.Lab) -> Box:
    """The context's boxes. This machine has no accelerators to spread a model over: there it is the story's."""
    return box(BOXES.get(lab.current_context.slug, STORY))


def gradient_bytes(lab: kit.Lab) -> int | None:
    """Of a gradient as Lab V2-06 sent it; None where there is no design of it."""
    size = _design(lab, LAB_06).get("gradient_bytes")
    return int(size) if size in (2, 4) else None


def ports(lab: kit.Lab, at: Box) -> int | None:
    """NICs of each box as Lab V2-02 left them; None where there is no design of it, or its boxes had none."""
    count = _design(lab, LAB_02).get("nics")
    return min(int(count), at.nics) if isinstance(count, (int, float)) and count >= 1 else None


def _design(lab: kit.Lab, slug: str) -> dict[str, Any]:
    return lab.ledger.design(slug) or {}
