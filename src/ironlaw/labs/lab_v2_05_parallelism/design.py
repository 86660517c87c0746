"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_05_parallelism.act1 import slots as first
from ironlaw.registry.runs import runs
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


def measured(lab: kit.Lab) -> dict[str, str]:
    """For the receipt: per act, what was measured."""
    row = runs("llama3_2024")[1]
    return {
        "act1": f"MFU {percent(first.stated(first.FEW))} to {percent(first.stated(first.MANY))} (Megatron-Core)",
        "act2": f"a step of {kit.amount(row.seconds, 's')} with {row.layout} (Meta)",
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    pipeline, layout = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Bubble", percent(pipeline["bubble_share"]) if pipeline else "open", "")]
    if not layout:
        return [*rows, ("Layout", "open", ""), ("MFU", "open", "")]
    sizes = f"{layout['tensor']} × {layout['pipeline']} × {layout['context_parallel']} × {layout['data']:,}"
    mfu = percent(layout["mfu"]) if "mfu" in layout else "–"
    return [*rows, ("Layout", sizes, ""), ("MFU", mfu, "fail" if layout["constraint_hit"] else "")]
