"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import Case, premise
from ironlaw.labs.lab_v2_06_collectives.act2.verdict import GOAL as MOST
from ironlaw.labs.lab_v2_06_collectives.act2.verdict import LIMITS


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return settings.read(Case, values, box=premise().box)


GOAL = kit.Goal(_case, LIMITS, ("bucket", "algorithm", "order", "width", "zero", "tensor"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"most": kit.amount(100 * MOST, "%")}
