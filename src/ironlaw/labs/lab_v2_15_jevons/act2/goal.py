"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_15_jevons.act2.plan import REGIONS, SERVERS, Plan, plan_of
from ironlaw.labs.lab_v2_15_jevons.act2.verdict import LIMITS
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.systems.limits import hit


def _plan(lab: kit.Lab, values: Mapping[str, Any]) -> Plan:
    return plan_of(values)


STOPS: Mapping[str, tuple[Any, ...]] = {
    "server": tuple(SERVERS), "region": tuple(REGIONS), "passed": (75, 50, 25, 0), "deferrable": (25, 50, 75), "pue": (1.1, 1.05),
}  # fmt: skip


def _nearest(lab: kit.Lab, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """One dial or two, with as many servers as the load then needs: the fleet is sized anew with every change."""
    for names in [(), *((name,) for name in STOPS), *combinations(STOPS, 2)]:
        for stops in product(*(STOPS[name] for name in names)):
            turns = dict(zip(names, stops, strict=True))
            sized = {**turns, "servers": plan_of({**values, **turns}).sized.servers}
            if hit(LIMITS, plan_of({**values, **sized})).tone == "good":
                return sized
    return None


GOAL = kit.Goal(_plan, LIMITS, ("server", "servers", "region", "passed", "deferrable", "pue", "years"), nearest=_nearest)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"budget": kit.amount(given("budget"), "t")}
