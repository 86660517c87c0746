"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_08_ledger.act2.banners import LIMITS, UPDATE, Fit
from ironlaw.labs.lab_08_ledger.act2.instrument import EVERY, NONE, Setting
from ironlaw.labs.lab_08_ledger.step import BATCHES, CHUNKS
from ironlaw.systems.limits import hit

FEW = 8  # chunks of the loss


def _fit(lab: kit.Lab, values: Mapping[str, Any]) -> Fit:
    return Fit(settings.read(Setting, values).case, float(lab.current_context.hardware.usable))


def _nearest(lab: kit.Lab, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same optimiser, and nothing recomputed, where that will do; then the largest microbatch up to the one that stands."""
    smaller = [values["batch"], *(batch for batch in reversed(BATCHES) if batch < values["batch"])]
    optimisers, chunks = dict.fromkeys((values["optimiser"], "adam8bit")), dict.fromkeys((values["chunks"], FEW, CHUNKS[-1]))
    for optimiser, recompute, parts, batch in product(optimisers, (NONE, EVERY), chunks, smaller):
        turns = {"optimiser": optimiser, "recompute": recompute, "chunks": parts, "batch": batch, "attention": "fused"}
        if hit(LIMITS, _fit(lab, {**values, **turns})).tone == "good":
            return turns
    return None


GOAL = kit.Goal(_fit, LIMITS, ("recompute", "chunks", "batch", "optimiser", "attention"), nearest=_nearest)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"update": UPDATE, "usable": kit.amount(float(lab.current_context.hardware.usable), "B")}
