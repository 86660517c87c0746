"""Which promise a plan breaks, by how much, and the least change that keeps it."""

from __future__ import annotations

import math

from ironlaw import kit
from ironlaw.engine.serving.availability import downtime
from ironlaw.labs.lab_v2_12_slo.act2.plan import (
    AFTER,
    LATENCY,
    MOST_COPIES,
    PROMISED,
    WITHIN,
    Plan,
)  # fmt: skip
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import counted, percent, show


def _inverted_slots(plan: Plan) -> dict[str, object]:
    caller = plan.timeout * plan.growth
    return {"inner": kit.amount(plan.timeout, "s"), "caller": kit.amount(caller, "s"), "outer": kit.amount(plan.outer, "s")}


def _storm_slots(plan: Plan) -> dict[str, object]:
    return {
        "attempts": counted(round(plan.amplified), "attempt"), "sent": kit.amount(100 * plan.late_load, "%"),
        "last": kit.amount(100 * plan.course.last, "%"),
        "after": kit.amount(plan.after, "s"),
    }  # fmt: skip


def _slow_slots(plan: Plan) -> dict[str, object]:
    return {"sent": kit.amount(100 * plan.late_load, "%"), "after": kit.amount(AFTER, "s"), "last": kit.amount(100 * plan.course.last, "%")}


def _late_slots(plan: Plan) -> dict[str, object]:
    endless = math.isinf(plan.latency)
    return {
        "share": kit.amount(100 * WITHIN, "%"), "promise": kit.amount(LATENCY, "s"), "busy": kit.amount(100 * min(plan.calm.busy,
        99.0), "%"),
        "latency": "longer than anybody waits" if endless else kit.amount(plan.latency, "s"),
        "over": "no finite limit would do" if endless else kit.times(plan.latency / LATENCY),
    }  # fmt: skip


def _down_slots(plan: Plan) -> dict[str, object]:
    return {
        "available": _nines(plan.available), "promise": _nines(PROMISED), "layers": plan.layers, "one": _nines(plan.layer_up),
        "needed": plan.needed, "replicas": plan.replicas, "down": kit.dress(show(downtime(plan.available), "s")),
        "allowed": kit.dress(show(downtime(PROMISED), "s")),
    }  # fmt: skip


def _costly_slots(plan: Plan) -> dict[str, object]:
    return {"copies": kit.amount(100 * plan.copies, "%"), "most": kit.amount(100 * MOST_COPIES, "%")}


def _works_slots(plan: Plan) -> dict[str, object]:
    return {
        "share": kit.amount(100 * WITHIN, "%"), "latency": kit.amount(plan.latency, "s"), "promise": kit.amount(LATENCY, "s"),
        "available": _nines(plan.available),
        "promised": _nines(PROMISED), "back": kit.amount(plan.course.back, "s"), "copies": kit.amount(100 * plan.copies, "%"),
    }  # fmt: skip


def _nines(share: float) -> kit.Markup:
    return kit.dress(percent(share, nines(share)))


def nines(share: float) -> int:
    """Digits of an availability: as many as leave three of the downtime."""
    return 9 if share >= 1 else min(9, 4 + max(0, -math.floor(math.log10(100 * (1 - share)))))


def _returns_late(plan: Plan) -> bool:
    return plan.course.back > plan.after


LIMITS = (
    fail(
        "timeout_inversion", "A caller gives up before the one it calls", lambda plan: plan.layers > 1 and plan.growth <= 1, _inverted_slots
    ),
    fail("storm", "It never recovers", lambda plan: plan.stuck and _returns_late(plan), _storm_slots),
    fail("slow_return", "It recovers too slowly", _returns_late, _slow_slots),
    fail("slo", "Too slow on a calm day", lambda plan: plan.latency > LATENCY, _late_slots),
    fail("availability", "It is down too often", lambda plan: plan.available < PROMISED, _down_slots),
    warn("hedge_cost", "Too many copies", lambda plan: plan.copies > MOST_COPIES + 1e-9, _costly_slots),
    good("works", "The contract is met", _works_slots),
)
