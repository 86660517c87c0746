"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import plan_of
from ironlaw.labs.lab_v2_07_checkpoint.act2.verdict import LIMITS, TARGET

GOAL = kit.Goal(lambda lab, values: plan_of(values), LIMITS, ("far_every", "saving", "near", "near_every", "restart", "detect", "spares"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"target": kit.amount(100 * TARGET, "%")}
