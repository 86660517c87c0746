"""Which boxes a context stands for, and what the labs before this one left behind."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.links import Box
from ironlaw.registry.boxes import box

BOXES = {"a100_80gb_sxm": "dgx_a100", "h100_sxm": "grand_teton_h100", "h200_sxm": "dgx_h200"}
STORY = "grand_teton_h100"  # the run of Act II
LAB_06, LAB_02 = "lab_v2_06_collectives", "lab_v2_02_interconnect"


def box_of(lab: kit.Lab) -> Box:
    """The context's boxes. This machine has no accelerators to spread a model over: there it is the story's."""
    return box(BOXES.get(lab.current_context.slug, STORY))


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The format of gradients that Lab V2-06 sent, and the NICs of a box that Lab V2-02 left."""
    found = (
        (LAB_06, "gradients", "gradient_bytes", (lab.ledger.design(LAB_06) or {}).get("gradient_bytes")),
        (LAB_02, "box", "nics", (lab.ledger.design(LAB_02) or {}).get("nics")),
    )
    return [kit.Offer(slug, what, {dial: value}) for slug, what, dial, value in found if isinstance(value, (int, float)) and value >= 1]
