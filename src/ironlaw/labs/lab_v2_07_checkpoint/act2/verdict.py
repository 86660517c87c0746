"""Which limit a plan of saves hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import ASYNC, HOST, NEIGHBOUR, NONE, Plan
from ironlaw.systems.limits import either, fail, good, hit, single_fixes, turn, warn

WAITS = 0.05  # a share of the time without a host that is a fault of its own
TARGET, LEAST = 0.90, 0.05  # shares of the time that are work which lasts
LESS = [0.75**k for k in range(1, 16)]
MORE = [1 / factor for factor in LESS]
SPARES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024)


def works(plan: Plan) -> bool:
    return hit(LIMITS, plan).tone == "good"


def late(plan: Plan) -> tuple[str, float, float] | None:
    """(where, seconds that a save needs, seconds between two) of a place that can't keep up."""
    if plan.saving == ASYNC and plan.drain > plan.far_every:
        return "the file system", plan.drain, plan.far_every
    if plan.near == NEIGHBOUR and plan.passing > plan.near_every:
        return "the way to a neighbour", plan.passing, plan.near_every
    return None


def fixes(plan: Plan) -> dict[str, Plan]:
    """Words -> the plan with that one change, which works with all else as it is."""
    tries = {"the best intervals": plan.at_best} if plan.at_best != plan else {}
    tries |= _scaled(plan, far_every=[*LESS, *MORE], restart=LESS, detect=LESS)
    tries |= dict(turn(plan, "near", place) for place in ((HOST, NEIGHBOUR) if plan.near == NONE else (NONE,)))
    if plan.saving != ASYNC:
        tries |= [turn(plan, "saving", ASYNC)]
    spares = (turn(plan, "spares", count) for count in SPARES if count > plan.spares)
    more = next((each for each in spares if each[1].waiting < WAITS / 10), None)
    if more and plan.waiting > WAITS / 10:
        tries |= {more[0]: more[1]} | _scaled(plan, away=LESS)
    tries |= _scaled(plan, storage=MORE)
    return {words: changed for words, changed in tries.items() if works(changed)}


def _scaled(plan: Plan, **factors: list[float]) -> dict[str, Plan]:
    """Of each of these dials the first multiple that works."""
    stops = {name: [getattr(plan, name) * factor for factor in some] for name, some in factors.items()}
    return single_fixes(plan, works, factors, stops=stops)


def _any_of(plan: Plan) -> str:
    return either(list(fixes(plan))[:4], "no single dial; turn two, or take fewer GPUs")


def _ram(plan: Plan) -> dict[str, object]:
    return {
        "held": kit.amount(plan.held, "B"), "memory": kit.amount(plan.memory, "B"), "copies": plan.copies,
        "each": kit.amount(plan.state / plan.boxes, "B"), "cures": _any_of(plan),
    }  # fmt: skip


def _storm(plan: Plan) -> dict[str, object]:
    found = late(plan)
    assert found is not None
    where, needs, every = found
    return {"where": where, "needs": kit.amount(needs, "s"), "every": kit.amount(every, "s"), "cures": _any_of(plan)}


def _spares(plan: Plan) -> dict[str, object]:
    return {
        "spares": plan.spares, "away": kit.amount(plan.away, "s"), "down": kit.amount(plan.away / plan.between, "hosts"),
        "share": kit.amount(100 * plan.waiting, "%"), "cures": _any_of(plan),
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
        "share": kit.amount(100 * float(parts[most]), "%"), "cures": _any_of(plan),
    }  # fmt: skip


def _stuck(plan: Plan) -> dict[str, object]:
    slots = _short(plan)
    return {"between": kit.amount(plan.between, "s")} | {name: slots[name] for name in ("goodput", "cures")}


def _works(plan: Plan) -> dict[str, object]:
    return {
        "goodput": kit.amount(100 * plan.goodput, "%"), "target": kit.amount(100 * TARGET, "%"),
        "room": kit.amount(plan.memory - plan.held, "B"), "busy": kit.amount(100 * plan.drain / plan.far_every, "%", 2),
    }  # fmt: skip


LIMITS = (
    fail("ram", "The hosts are full", lambda plan: plan.held > plan.memory, _ram),
    fail("storm", "A save begins before the last one is stored", lambda plan: late(plan) is not None, _storm),
    fail("spares", "The job waits for a host", lambda plan: plan.waiting > WAITS, _spares),
    fail("no_progress", "The job hardly gets on", lambda plan: plan.goodput < LEAST, _stuck),
    warn("goodput", "Too much of the time is wasted", lambda plan: plan.goodput < TARGET, _short),
    good("works", "It works", _works),
)
