"""Which limit a plan of saves hits, by how much, and the least change that would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import ASYNC, HOST, NEIGHBOUR, NONE, SYNC, Plan
from ironlaw.units import show

RAM, STORM, SPARES, STUCK, SHORT, WORKS = "ram", "storm", "spares", "no_progress", "goodput", "works"
WAITS = 0.05  # a share of the time without a host that is a fault of its own
TARGET, LEAST = 0.90, 0.05  # shares of the time that are work which lasts
TONES = {RAM: "fail", STORM: "fail", SPARES: "fail", STUCK: "fail", SHORT: "warn", WORKS: "good"}
TITLES = {
    RAM: "The hosts are full", STORM: "A save begins before the last one is stored", SPARES: "The job waits for a host",
    STUCK: "The job hardly gets on", SHORT: "Too much of the time is wasted", WORKS: "It works",
}  # fmt: skip


def state(plan: Plan) -> str:
    """The first limit that a plan hits; WORKS where it hits none."""
    if plan.held > plan.memory:
        return RAM
    if late(plan):
        return STORM
    if plan.waiting > WAITS:
        return SPARES
    if plan.goodput < LEAST:
        return STUCK
    return WORKS if plan.goodput >= TARGET else SHORT


def late(plan: Plan) -> tuple[str, float, float] | None:
    """(where, seconds that a save needs, seconds between two) of a place that can't keep up."""
    if plan.saving == ASYNC and plan.drain > plan.far_every:
        return "the file system", plan.drain, plan.far_every
    if plan.near == NEIGHBOUR and plan.passing > plan.near_every:
        return "the way to a neighbour", plan.passing, plan.near_every
    return None


def banner(lab: kit.Lab, plan: Plan) -> dict[str, object]:
    name = state(plan)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](plan))))


def cures(plan: Plan) -> dict[str, Plan]:
    """Words -> the plan with that one change, which works with all else as it is."""
    tries: dict[str, Plan] = {}
    factors = [0.75**k for k in range(1, 16)]

    def less(name: str, words: Callable[[float], str], steps: list[float]) -> None:
        now = getattr(plan, name)
        factor = next((step for step in steps if state(replace(plan, **{name: now * step})) == WORKS), None)
        if factor:
            tries[words(now * factor)] = replace(plan, **{name: now * factor})

    best = plan.at_best
    if best != plan:
        tries["the best intervals"] = best
    less("far_every", lambda seconds: f"a far save every {show(seconds, 's')}", [*factors, *(1 / step for step in factors)])
    less("restart", lambda seconds: f"restarting in {show(seconds, 's')}", factors)
    less("detect", lambda seconds: f"detecting in {show(seconds, 's')}", factors)
    if plan.near == NONE:
        tries["copies in host memory"] = replace(plan, near=HOST)
        tries["copies at a neighbour's"] = replace(plan, near=NEIGHBOUR)
    else:
        tries["no near copies"] = replace(plan, near=NONE)
    if plan.saving == SYNC:
        tries["saves that drain while the job goes on"] = replace(plan, saving=ASYNC)
    more = next(
        (n for n in (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024) if n > plan.spares and replace(plan, spares=n).waiting < WAITS / 10), None
    )
    if more and plan.waiting > WAITS / 10:
        tries[f"{more} spare hosts"] = replace(plan, spares=more)
        less("away", lambda seconds: f"hosts that are back after {show(seconds, 's')}", factors)
    less("storage", lambda rate: f"a file system of {show(rate, 'B/s')}", [1 / step for step in factors])
    return {words: changed for words, changed in tries.items() if state(changed) == WORKS}


def _or(plan: Plan) -> str:
    words = list(cures(plan))[:4]
    if not words:
        return "no single dial; turn two, or take fewer GPUs"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _ram(plan: Plan) -> dict[str, object]:
    return {
        "held": kit.amount(plan.held, "B"), "memory": kit.amount(plan.memory, "B"), "copies": plan.copies,
        "each": kit.amount(plan.state / plan.boxes, "B"), "cures": _or(plan),
    }  # fmt: skip


def _storm(plan: Plan) -> dict[str, object]:
    found = late(plan)
    assert found is not None
    where, needs, every = found
    return {"where": where, "needs": kit.amount(needs, "s"), "every": kit.amount(every, "s"), "cures": _or(plan)}


def _spares(plan: Plan) -> dict[str, object]:
    return {
        "spares": plan.spares, "away": kit.amount(plan.away, "s"), "down": kit.amount(plan.away / plan.between, "hosts"),
        "share": kit.amount(100 * plan.waiting, "%"), "cures": _or(plan),
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
        "share": kit.amount(100 * float(parts[most]), "%"), "cures": _or(plan),
    }  # fmt: skip


def _stuck(plan: Plan) -> dict[str, object]:
    slots = _short(plan)
    return {"between": kit.amount(plan.between, "s")} | {name: slots[name] for name in ("goodput", "cures")}


def _works(plan: Plan) -> dict[str, object]:
    return {
        "goodput": kit.amount(100 * plan.goodput, "%"), "target": kit.amount(100 * TARGET, "%"),
        "room": kit.amount(plan.memory - plan.held, "B"), "busy": kit.amount(100 * plan.drain / plan.far_every, "%", 2),
    }  # fmt: skip


SLOTS = {RAM: _ram, STORM: _storm, SPARES: _spares, STUCK: _stuck, SHORT: _short, WORKS: _works}
