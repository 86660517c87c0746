"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_12_slo.act2.plan import AFTER, LATENCY, MOST_COPIES, MOST_REPLICAS, PROMISED, WITHIN, Plan, plan_of
from ironlaw.labs.lab_v2_12_slo.act2.verdict import LIMITS
from ironlaw.systems.limits import hit
from ironlaw.units import percent


def _plan(lab: kit.Lab, values: Mapping[str, Any]) -> Plan:
    return plan_of(values)


def _nearest(lab: kit.Lab, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Every try is a run through a spike, so few are tried: a line that is cut short, then more replicas that fail less together."""
    for common, replicas, limit in product(COMMON, range(2, MOST_REPLICAS + 1), LINES):
        turns = {"limit": limit, "common": min(values["common"], common), "replicas": replicas}
        plan = plan_of({**values, **SAFE, **turns})
        if plan.available >= PROMISED and plan.latency <= LATENCY and hit(LIMITS, plan).tone == "good":
            return {**SAFE, **turns}
    return None


LINES, COMMON = (40, 20), (10, 5, 0)  # requests that may wait; percent
SAFE = {"growth": 1.2, "hedge": 0}
TURNS = ("retries", "budget", "limit", "where", "replicas", "common", "hedge", "growth", "timeout", "order", "breaker")
GOAL = kit.Goal(_plan, LIMITS, TURNS, nearest=_nearest, ahead=True)


def task(lab: kit.Lab) -> dict[str, object]:
    return {
        "share": kit.amount(100 * WITHIN, "%"), "within": kit.amount(LATENCY, "s"), "up": kit.dress(percent(PROMISED, 6)),
        "after": kit.amount(AFTER, "s"), "copies": kit.amount(100 * MOST_COPIES, "%"),
    }  # fmt: skip
