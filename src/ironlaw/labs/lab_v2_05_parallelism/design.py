"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.units import percent

PIPELINE = ("gpus", "micro_batches", "mfu_first")
LAYOUT = (
    "model", "parameters", "box", "devices", "boxes", "nics", "tensor", "pipeline", "context_parallel", "data", "virtual", "micro", "zero",
    "recompute", "batch", "seq", "step_s", "tokens_per_s", "mfu", "bubble_share", "memory_bytes", "state_bytes", "state_bytes_per_device",
    "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: V2-07 saves the state of this layout."""
    return lab.fields(act1=PIPELINE, act2=LAYOUT)


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    pipeline, layout = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Bubble", percent(pipeline["bubble_share"]) if pipeline else "open", "")]
    if not layout:
        return [*rows, ("Layout", "open", ""), ("MFU", "open", "")]
    sizes = f"{layout['tensor']} × {layout['pipeline']} × {layout['context_parallel']} × {layout['data']:,}"
    mfu = percent(layout["mfu"]) if "mfu" in layout else "–"
    return [*rows, ("Layout", sizes, ""), ("MFU", mfu, "fail" if layout["constraint_hit"] else "")]
