"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, STANDARD, model
from ironlaw.units import percent, show

READER = ("reader", "attack", "epsilon", "left", "worst")
PLAN = (
    "model", "clean", "attacked", "reported", "device", "batch", "dtype", "mode", "batch_s", "slo_s", "attack_steps", "training_images",
    "training_h", "members", "samples", "sigma", "radius", "constraint_hit",
)  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: the model with what it withstands, what it takes to run and to train."""
    return lab.fields(act1=READER, act2=PLAN)


def measured(lab: kit.Lab) -> dict[str, str]:
    """For the receipt: what RobustBench counted of the network that Act I asks about."""
    ordinary = model(CIFAR, STANDARD[CIFAR])
    return {"act1": f"{ordinary.attacked:g}% left (RobustBench)"}


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    one, two = lab.readouts.get("act1", {}), lab.readouts.get("act2", {})
    rows = [("Digits, attacked", percent(one["left"]) if one else "open", "")]
    if not two:
        return [*rows, ("A batch", "open", ""), ("Plan", "open", "")]
    hit = two["constraint_hit"]
    tone = "good" if hit is None else "warn" if hit in ("dominated", "open") else "fail"
    return [
        *rows,
        ("A batch", show(two["batch_s"], "s"), "fail" if hit == "latency" else ""),
        ("Plan", "it works" if hit is None else hit, tone),
    ]
