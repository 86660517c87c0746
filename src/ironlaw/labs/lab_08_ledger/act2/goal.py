"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_08_ledger.act2.banners import LIMITS, UPDATE, Fit
from ironlaw.labs.lab_08_ledger.act2.instrument import Setting


def _fit(lab: kit.Lab, values: Mapping[str, Any]) -> Fit:
    return Fit(settings.read(Setting, values).case, float(lab.current_context.hardware.usable))


GOAL = kit.Goal(_fit, LIMITS, ("recompute", "chunks", "batch", "optimiser", "attention"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"update": UPDATE, "usable": kit.amount(float(lab.current_context.hardware.usable), "B")}
