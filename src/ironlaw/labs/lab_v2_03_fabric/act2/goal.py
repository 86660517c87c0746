"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.jobs import PLACEMENTS
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import BAD_DAY, Case
from ironlaw.labs.lab_v2_03_fabric.act2.verdict import BUDGET, EXCHANGE_MOST, LIMITS, STEP_MOST


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return settings.read(Case, values)


GOAL = kit.Goal(_case, LIMITS, ("rails", "leaf_thin", "radix", "tiers", "pod_thin", "scattered"))


def task(lab: kit.Lab) -> dict[str, object]:
    shares = {"exchange": EXCHANGE_MOST, "slower": STEP_MOST - 1, "bad": BAD_DAY}
    return {"budget": f"{BUDGET:,}", "placements": PLACEMENTS, **{name: kit.amount(100 * share, "%") for name, share in shares.items()}}
