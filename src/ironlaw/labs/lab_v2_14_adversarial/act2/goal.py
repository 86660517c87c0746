"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import GOALS, SLO, Plan, plan_of
from ironlaw.labs.lab_v2_14_adversarial.act2.verdict import LIMITS
from ironlaw.labs.lab_v2_14_adversarial.models import data_of


def _plan(lab: kit.Lab, values: Mapping[str, Any]) -> Plan:
    return plan_of(data_of(lab), values)


GOAL = kit.Goal(_plan, LIMITS, ("model", "device", "batch", "dtype", "mode", "members", "steps", "images", "noise"), ahead=True)


def task(lab: kit.Lab) -> dict[str, object]:
    goal = GOALS[data_of(lab)]
    return {
        "clean": kit.amount(goal.clean, "%"), "attacked": kit.amount(goal.attacked, "%"), "slo": kit.amount(SLO, "s"),
        "hours": kit.dress(f"{goal.hours:g} h"),
    }  # fmt: skip
