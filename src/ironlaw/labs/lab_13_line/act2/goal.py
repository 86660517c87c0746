"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_13_line.act2.server import MOSTS, WAITING, Case
from ironlaw.labs.lab_13_line.act2.verdict import LIMITS
from ironlaw.systems.limits import hit, warn

RATE, REPLICAS = 60_000.0, 4  # the story's: requests per second to come, and the GPUs that Finance would pay for
BUSIEST = 0.98  # a share of the time: above it a queue takes too long to settle


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    context = lab.current_context
    return settings.read(Case, values, hardware=context.hardware, fmt=context.format, moving=bool(values.get("moving")))


def _nearest(lab: kit.Lab, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Every try is a run of the queue, so a server that can't keep up is not tried."""
    for policy, most, replicas in product(dict.fromkeys((values["policy"], WAITING)), (values["most"], *MOSTS), range(1, REPLICAS + 1)):
        turns = {"rate": max(RATE, values["rate"]), "policy": policy, "most": most, "replicas": replicas, "line": "one"}
        case = _case(lab, {**values, **turns})
        if case.footprint.fits and case.load < BUSIEST and hit(GOAL.limits, case).tone == "good":
            return turns
    return None


def _few(case: Case) -> dict[str, object]:
    return {"rate": f"{case.rate:,.0f}", "goal": f"{RATE:,.0f}"}


def _many(case: Case) -> dict[str, object]:
    return {"replicas": case.replicas, "most": REPLICAS}


*HARD, WORKS = LIMITS
FEW = warn("few", "It works, but more will come", lambda case: case.rate < RATE, _few)
MANY = warn("many", "Too many GPUs", lambda case: case.replicas > REPLICAS, _many)
GOAL = kit.Goal(_case, (*HARD, MANY, FEW, WORKS), ("policy", "most", "replicas"), nearest=_nearest)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"goal": f"{RATE:,.0f}", "most": REPLICAS, "target": kit.amount(Case.target, "s")}
