"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_14_tail.act2.fleet import Fleet, fleet_of
from ironlaw.labs.lab_14_tail.act2.verdicts import LIMITS
from ironlaw.systems.limits import fail


def _more_shards(fleet: Fleet) -> dict[str, object]:
    return {"rho": kit.amount(100 * fleet.rho, "%"), "times": kit.times(Fleet.rho / fleet.rho), "asked": kit.amount(100 * Fleet.rho, "%")}


BOUGHT = fail("more_shards", "It takes more shards", lambda fleet: fleet.rho < Fleet.rho, _more_shards)
GOAL = kit.Goal(fleet_of, (*LIMITS[:-1], BOUGHT, LIMITS[-1]), ("hedge", "quantile", "budget"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"k": Fleet.k, "target": kit.amount(Fleet.target, "s"), "rho": kit.amount(100 * Fleet.rho, "%")}
