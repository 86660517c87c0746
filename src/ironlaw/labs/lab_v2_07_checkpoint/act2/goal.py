"""Act II's task: what a design is held to, the dials that it may use, and the nearest design that does it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import ASYNC, MINUTE, NEAR, NONE, QUICKEST, SYNC, Plan, plan_of
from ironlaw.labs.lab_v2_07_checkpoint.act2.verdict import LIMITS, TARGET, works

SPEEDS = (1.0, 0.5, 0.25, 0.125)  # of what detecting and restarting take now
MOST_SPARES = 1024


def _nearest(lab: kit.Lab, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Restarts no faster than they must be, then the simplest place to save to; each at its best intervals."""
    now = plan_of(values)
    away = now.away / now.between  # hosts at any time
    spares = max(now.spares, min(MOST_SPARES, math.ceil(away + 4 * math.sqrt(away))))
    for speed, near, saving in product(SPEEDS, (now.near, *NEAR), (now.saving, SYNC, ASYNC)):
        times = {name: max(round(speed * getattr(now, name)), QUICKEST) for name in ("detect", "restart")}
        plan = replace(now, near=near, saving=saving, spares=spares, **times)
        for way in (plan, plan.at_best):
            turns = _turns(way)
            if works(plan_of({**values, **turns})):
                return turns
    return None


def _turns(plan: Plan) -> dict[str, Any]:
    near = {} if plan.near == NONE else {"near_every": round(plan.near_every, 1)}
    return {
        "near": plan.near, "saving": plan.saving, "spares": plan.spares, "detect": plan.detect, "restart": plan.restart,
        "far_every": round(plan.far_every / MINUTE, 2), **near,
    }  # fmt: skip


TURNS = ("far_every", "saving", "near", "near_every", "restart", "detect", "spares")
GOAL = kit.Goal(lambda lab, values: plan_of(values), LIMITS, TURNS, nearest=_nearest)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"target": kit.amount(100 * TARGET, "%")}
