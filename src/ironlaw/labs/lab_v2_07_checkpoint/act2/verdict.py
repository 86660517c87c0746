"""Which limit a plan of saves hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import ASYNC, NEIGHBOUR, Plan
from ironlaw.systems.limits import fail, good, hit, warn

WAITS = 0.05  # a share of the time without a host that is a fault of its own
TARGET, LEAST = 0.90, 0.05  # shares of the time that are work which lasts


def works(plan: Plan) -> bool:
    return hit(LIMITS, plan).tone == "good"


def late(plan: Plan) -> tuple[str, float, float] | None:
    """(where, seconds that a save needs, seconds between two) of a place that can't keep up."""
    if plan.saving == ASYNC and plan.drain > plan.far_every:
        return "the file system", plan.drain, plan.far_every
    if plan.near == NEIGHBOUR and plan.passing > plan.near_every:
        return "the way to a neighbour", plan.passing, plan.near_every
    return None


def _ram(plan: Plan) -> dict[str, object]:
    return {
        "held": kit.amount(plan.held, "B"), "memory": kit.amount(plan.memory, "B"), "copies": plan.copies,
        "each": kit.amount(plan.state / plan.boxes, "B"),
    }  # fmt: skip


def _storm(plan: Plan) -> dict[str, object]:
    found = late(plan)
    assert found is not None
    where, needs, every = found
    return {"where": where, "needs": kit.amount(needs, "s"), "every": kit.amount(every, "s")}


def _spares(plan: Plan) -> dict[str, object]:
    return {
        "spares": plan.spares, "away": kit.amount(plan.away, "s"), "down": kit.amount(plan.away / plan.between, "hosts"),
        "share": kit.amount(100 * plan.waiting, "%"),
    }  # fmt: skip


def _short(plan: Plan) -> dict[str, object]:
    parts = {
        "saving": plan.shares.writing,
        "lost work": plan.shares.lost,
        "detecting and restarting": plan.shares.restart,
        "waiting for a host": plan.waiting,
    }
    most = max(parts, key=lambda name: float(parts[name]))
    return {
        "goodput": kit.amount(100 * plan.goodput, "%"), "target": kit.amount(100 * TARGET, "%"), "most": most,
        "share": kit.amount(100 * float(parts[most]), "%"),
    }  # fmt: skip


def _stuck(plan: Plan) -> dict[str, object]:
    return {"between": kit.amount(plan.between, "s"), "goodput": kit.amount(100 * plan.goodput, "%")}


def _works(plan: Plan) -> dict[str, object]:
    return {
        "goodput": kit.amount(100 * plan.goodput, "%"), "target": kit.amount(100 * TARGET, "%"),
        "room": kit.amount(plan.memory - plan.held, "B"), "busy": kit.amount(100 * plan.drain / plan.far_every, "%", 2),
    }  # fmt: skip


LIMITS = (
    fail("ram", "The hosts are full", lambda plan: plan.held > plan.memory, _ram),
    fail("storm", "A save begins before the last one is stored", lambda plan: late(plan) is not None, _storm),
    fail("spares", "The job waits for a host", lambda plan: plan.waiting > WAITS, _spares),
    fail("no_progress", "The job makes hardly any progress", lambda plan: plan.goodput < LEAST, _stuck),
    warn("goodput", "Too much of the time is wasted", lambda plan: plan.goodput < TARGET, _short),
    good("works", "It works", _works),
)
