"""Which limit a plan hits, by how much, and the least change that would do."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import Plan
from ironlaw.labs.lab_v2_14_adversarial.models import FELL, STANDARD, models
from ironlaw.systems.limits import fail, good, warn

THIN, LATE, DEAR = "thin", "latency", "budget"


def short(plan: Plan) -> tuple[str, float, float] | None:
    """(which figure, its lower end in percent, what is asked for) of the first that may be too low."""
    for figure, words in (("clean", "of unchanged images"), ("attacked", "under attack")):
        low = 100 * plan.model.sure(figure).low
        if low < (asked := float(getattr(plan.goal, figure))):
            return words, low, asked
    return None


def _trained_on_little(plan: Plan) -> bool:
    robust = plan.model.slug not in STANDARD.values()
    return robust and (plan.steps < plan.goal.steps or plan.images < plan.goal.images)


def _unproven(plan: Plan) -> dict[str, object]:
    return {
        "reported": kit.amount(plan.model.reported or 0.0, "%"), "left": kit.amount(plan.model.attacked, "%"), "name": plan.model.name,
        "lost": kit.amount(plan.model.lost, "points"),
    }  # fmt: skip


def _noisy(plan: Plan) -> dict[str, object]:
    return {
        "sigma": f"{plan.sigma:g}", "samples": f"{plan.samples:,}", "seconds": kit.amount(plan.seconds, "s"),
        "radius": f"{plan.radius:.2f}", "box": f"{plan.box:.2f}",
        "enough": "reaches" if plan.radius >= plan.box else "does not reach",
    }  # fmt: skip


def _thin(plan: Plan) -> dict[str, object]:
    return {
        "steps": plan.steps, "images": f"{plan.images:g}", "least": plan.goal.steps, "many": f"{plan.goal.images:g}",
    }  # fmt: skip


def _below(plan: Plan) -> dict[str, object]:
    lacking = short(plan)
    assert lacking is not None
    where, low, asked = lacking
    return {
        "where": where, "low": kit.amount(low, "%"), "asked": kit.amount(asked, "%"), "by": kit.amount(asked - low, "points"),
    }  # fmt: skip


def _dominated(plan: Plan) -> dict[str, object]:
    best = next(one for one in models(plan.model.data) if one.name == plan.dominators[0])
    alone = replace(plan, model=best, members=1, samples=0)
    return {
        "others": plan.dominators[0], "seconds": kit.amount(plan.seconds, "s"), "hours": kit.dress(f"{plan.hours:,.0f} h"),
        "once": kit.amount(alone.seconds, "s"),
    }  # fmt: skip


def _late(plan: Plan) -> dict[str, object]:
    return {
        "seconds": kit.amount(plan.seconds, "s"), "slo": kit.amount(plan.slo, "s"), "times": kit.times(plan.seconds / plan.slo),
    }  # fmt: skip


def _dear(plan: Plan) -> dict[str, object]:
    return {
        "hours": kit.dress(f"{plan.hours:,.0f} h"), "budget": kit.dress(f"{plan.goal.hours:g} h"),
        "times": kit.times(plan.hours / plan.goal.hours),
    }  # fmt: skip


def _open(plan: Plan) -> dict[str, object]:
    return {
        "seconds": kit.amount(plan.seconds, "s"),
        "uncounted": plan.model.uncounted,
        "slo": kit.amount(plan.slo, "s"),
    }


def _works(plan: Plan) -> dict[str, object]:
    return {
        "clean": kit.amount(100 * plan.model.sure("clean").low, "%"), "attacked": kit.amount(100 * plan.model.sure("attacked").low, "%"),
        "seconds": kit.amount(plan.seconds, "s"), "slo": kit.amount(plan.slo, "s"), "hours": kit.dress(f"{plan.hours:,.0f} h"),
        "budget": kit.dress(f"{plan.goal.hours:g} h"),
    }  # fmt: skip


LIMITS = (
    fail("unproven", "Its claim fell", lambda plan: plan.model.lost > FELL, _unproven),
    fail("noisy", "Nobody measured it with noise", lambda plan: plan.samples > 0, _noisy),
    fail(THIN, "The recipe is too weak", _trained_on_little, _thin),
    fail("below", "May not be accurate enough", lambda plan: short(plan) is not None, _below),
    warn("dominated", "Another model beats it", lambda plan: bool(plan.dominators), _dominated),
    fail(LATE, "Too slow", lambda plan: plan.seconds > plan.slo, _late),
    fail(DEAR, "Training costs too much", lambda plan: plan.hours > plan.goal.hours, _dear),
    warn("open", "Its time is only a lower bound", lambda plan: bool(plan.model.uncounted), _open),
    good("works", "Robust, fast and affordable", _works),
)
