"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_15_jevons.act2.plan import Plan, plan_of
from ironlaw.labs.lab_v2_15_jevons.act2.verdict import LIMITS
from ironlaw.labs.lab_v2_15_jevons.story import given


def _plan(lab: kit.Lab, values: Mapping[str, Any]) -> Plan:
    return plan_of(values)


GOAL = kit.Goal(_plan, LIMITS, ("server", "servers", "region", "passed", "deferrable", "pue", "years"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"budget": kit.amount(given("budget"), "t")}
