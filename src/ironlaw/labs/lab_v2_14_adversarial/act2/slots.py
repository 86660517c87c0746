"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.robustness import attack_cost, largest_radius, samples_for
from ironlaw.labs.lab_v2_14_adversarial.act2 import timed
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import GOALS, SLO, Plan
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, IMAGENET, count, data_of, model
from ironlaw.units import significant

STEPS = 10
FEW, MANY, NOISE = 10_000, 100_000, 0.25
BEST = "Bartoldson2024Adversarial_WRN-94-16"


def message(lab: kit.Lab) -> dict[str, object]:
    goal = GOALS[data_of(lab)]
    return {
        "clean": kit.amount(goal.clean, "%"), "attacked": kit.amount(goal.attacked, "%"), "slo": kit.amount(SLO, "s"),
        "hours": kit.dress(f"{goal.hours:g} h"), "steps": goal.steps, "images": f"{goal.images:g}",
    }  # fmt: skip


def lock() -> dict[str, object]:
    return {"steps": STEPS}


def truth(lab: kit.Lab) -> str:
    return f"{significant(float(lab.question('act2').answer))} plain steps"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer))) if option else ""


def reveal() -> dict[str, object]:
    low, high = timed.ratios(STEPS)
    plan = Plan(model(CIFAR, BEST))
    return {
        "steps": STEPS, "cost": kit.times(attack_cost(STEPS)), "passes": 2 * STEPS + 3, "attack": 2 * STEPS, "low": kit.times(low),
        "high": kit.times(high), "eleven": STEPS + 1, "hours": kit.dress(f"{plan.hours:,.0f} h"),
        "plain_hours": kit.dress(f"{plan.hours / attack_cost(STEPS):,.0f} h"), "seven": kit.times(attack_cost(7)),
        "seven_low": kit.times(timed.ratios(7)[0]), "seven_high": kit.times(timed.ratios(7)[1]),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    few, many = largest_radius(NOISE, FEW), largest_radius(NOISE, MANY)
    return {
        "few": f"{FEW:,}", "many": f"{MANY:,}", "before": f"{few:.2f}", "after": f"{many:.2f}", "sigma": f"{NOISE:g}",
        "ratio": kit.times(many / few), "twice": f"{largest_radius(2 * NOISE, FEW):.2f}",
    }  # fmt: skip


def peek() -> dict[str, object]:
    plan = Plan(model(CIFAR, BEST))
    return {
        "steps": STEPS, "cost": kit.times(attack_cost(STEPS)), "hundred": f"{largest_radius(NOISE, 100):.2f}", "sigma": f"{NOISE:g}",
        "box": f"{plan.box:.2f}", "wide": f"{samples_for(0.5, plan.box):,}", "wider": f"{samples_for(1.0, plan.box):,}",
        "imagenet": f"{Plan(model(IMAGENET, 'Salman2020Do_R50')).box:.2f}",
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {
        "fell": count(CIFAR, "fell"), "models": count(CIFAR, "models"), "strong": count(CIFAR, "strong"),
        "cost": kit.times(attack_cost(STEPS)), "steps": STEPS,
    }  # fmt: skip
