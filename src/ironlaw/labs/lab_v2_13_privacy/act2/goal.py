"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_13_privacy.act2.plan import Plan
from ironlaw.labs.lab_v2_13_privacy.act2.verdict import BUDGET, LEAST, LIMITS


def _plan(lab: kit.Lab, values: Mapping[str, Any]) -> Plan:
    return settings.read(Plan, values)


GOAL = kit.Goal(_plan, LIMITS, ("noise", "clip", "speed", "epochs", "rate", "runs", "one_in", "accountant"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"budget": kit.amount(BUDGET), "floor": kit.amount(100 * LEAST, "%")}
