"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.robustness import attack_cost, largest_radius, samples_for
from ironlaw.labs.lab_v2_14_adversarial.act2 import timed
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import GOALS, Plan
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, IMAGENET, STANDARD, count, data_of, model
from ironlaw.registry.machines import hardware

STEPS = 10
FEW, MANY, NOISE = 10_000, 100_000, 0.25
BEST = "Bartoldson2024Adversarial_WRN-94-16"


def message(lab: kit.Lab) -> dict[str, object]:
    goal = GOALS[data_of(lab)]
    return {"steps": goal.steps, "images": f"{goal.images:g}"}


def asked(slug: str) -> Plan:
    """A network of the table as the question runs it."""
    return Plan(model(CIFAR, slug))


def lock() -> dict[str, object]:
    ordinary, robust = asked(STANDARD[CIFAR]), asked(BEST)
    return {
        "plain": kit.amount(ordinary.seconds, "s"), "device": hardware(ordinary.device).name, "batch": ordinary.batch,
        "small": ordinary.model.architecture, "left": kit.amount(robust.model.attacked, "%"),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return str(kit.times(float(lab.question("act2").answer)))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer))) if option else ""


def reveal() -> dict[str, object]:
    low, high = timed.ratios(STEPS)
    ordinary, plan = asked(STANDARD[CIFAR]), asked(BEST)
    return {
        "longer": kit.times(plan.seconds / ordinary.seconds), "plain": kit.amount(ordinary.seconds, "s"),
        "robust": kit.amount(plan.seconds, "s"), "small": ordinary.model.architecture, "large": plan.model.architecture,
        "steps": STEPS, "cost": kit.times(attack_cost(STEPS)), "passes": 2 * STEPS + 3, "low": kit.times(low), "high": kit.times(high),
        "hours": kit.dress(f"{plan.hours:,.0f} h"), "plain_hours": kit.dress(f"{plan.hours / attack_cost(STEPS):,.0f} h"),
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
