"""Which limit a plan hits, by how much, and the least change that would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ironlaw import kit
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import DEVICES, Plan
from ironlaw.labs.lab_v2_14_adversarial.models import FELL, STANDARD, models
from ironlaw.registry.machines import hardware
from ironlaw.systems.limits import either, fail, good, hit, warn

THIN, LATE, DEAR = "thin", "latency", "budget"


def works(plan: Plan) -> bool:
    return hit(LIMITS, plan).tone == "good"


def hint(plan: Plan, moving: bool) -> dict[str, object]:
    """What would do; it is looked for when the dials rest."""
    return {} if works(plan) else {"cures": "…" if moving else _any_of(plan)}


def short(plan: Plan) -> tuple[str, float, float] | None:
    """(which figure, its lower end in percent, what is asked for) of the first that may be too low."""
    for figure, words in (("clean", "on images as they are"), ("attacked", "under attack")):
        low = 100 * plan.model.sure(figure).low
        if low < (asked := float(getattr(plan.goal, figure))):
            return words, low, asked
    return None


def changes(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Words and the plan with that one change, the least first: only such as bear on the limit that it hits."""
    limit = hit(LIMITS, plan).name
    if plan.samples:
        yield "no noisy copies", replace(plan, samples=0)
    if plan.members > 1:
        yield "one network alone", replace(plan, members=1)
    if limit in (THIN, DEAR):
        yield f"{plan.goal.steps} steps of attack", replace(plan, steps=plan.goal.steps)
        yield f"{plan.goal.images:g} million images", replace(plan, images=plan.goal.images)
    if limit == LATE:
        yield from faster(plan)
    for one in models(plan.model.data):
        if one.graph and one != plan.model:
            yield f"the model {one.name}", replace(plan, model=one)


def faster(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The same network, answered sooner; of smaller batches the largest that is in time."""
    if plan.mode != "compiled":
        yield "the network compiled", replace(plan, mode="compiled")
    if plan.dtype != "fp16":
        yield "FP16", replace(plan, dtype="fp16")
    for device in DEVICES:
        if device != plan.device:
            yield f"answering on {hardware(device).name}", replace(plan, device=device)
    if replace(plan, batch=1).seconds > plan.slo:
        return
    smaller = [replace(plan, batch=2**k) for k in range(8, -1, -1) if 2**k < plan.batch]
    if (cured := next((one for one in smaller if one.seconds <= plan.slo), None)) is not None:
        yield f"batches of {cured.batch}", cured


def fixes(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Single changes after which the plan works."""
    return ((words, changed) for words, changed in changes(plan) if changed != plan and works(changed))


def pairs(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Two changes at once that do: a model whose time is counted whole, and one thing about where it runs."""
    for first, changed in changes(plan):
        if changed.model == plan.model or changed.model.uncounted:
            continue
        for second, both in fixes(changed):
            if both.model == changed.model:
                yield f"{first} and {second}", both


def _any_of(plan: Plan) -> str:
    words = [one for one, _ in islice(fixes(plan), 3)] or [both for both, _ in islice(pairs(plan), 1)]
    return either(words, "no two changes; smaller batches on a faster device, too")


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
    alone = replace(plan, members=1, samples=0)
    return {
        "others": ", ".join(plan.dominators), "seconds": kit.amount(plan.seconds, "s"), "hours": kit.dress(f"{plan.hours:,.0f} h"),
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
    fail("unproven", "Its claim did not stand", lambda plan: plan.model.lost > FELL, _unproven),
    fail("noisy", "Nobody measured it with noise", lambda plan: plan.samples > 0, _noisy),
    fail(THIN, "Trained on too little", _trained_on_little, _thin),
    fail("below", "Not accurate enough, surely", lambda plan: short(plan) is not None, _below),
    warn("dominated", "Another is as good for less", lambda plan: bool(plan.dominators), _dominated),
    fail(LATE, "Too slow", lambda plan: plan.seconds > plan.slo, _late),
    fail(DEAR, "Training costs too much", lambda plan: plan.hours > plan.goal.hours, _dear),
    warn("open", "Its time is not counted whole", lambda plan: bool(plan.model.uncounted), _open),
    good("works", "It works", _works),
)
