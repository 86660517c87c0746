"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_14_tail.act2.fleet import Fleet, fleet_of
from ironlaw.labs.lab_14_tail.act2.verdicts import LIMITS

GOAL = kit.Goal(fleet_of, LIMITS, ("hedge", "quantile", "budget", "rho"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"k": Fleet().k, "target": kit.amount(Fleet().target, "s")}
