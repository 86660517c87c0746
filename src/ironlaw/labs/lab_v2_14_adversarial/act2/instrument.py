"""Act II: a model, a device and a recipe to what it withstands, how long it takes, and what training it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.robustness import attack_cost
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_14_adversarial.act2 import figures, verdict
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import TRAINING_BATCH, Plan, plan_of
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, STANDARD, data_of, models
from ironlaw.systems.limits import hit
from ironlaw.widget.figure import tabbed

CLAIMS = ("k_plus_one", "arithmetic_is_time", "a_hundred_copies_certify")
FOLLOWS = ("model",)
FIRST = {CIFAR: "Alfarra2020ClusTR"}
MORE = ("dtype", "mode", "slo", "noise", "samples", "sigma")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        data = data_of(lab)
        rows = [(one.slug, f"{one.name}: {one.architecture}") for one in models(data)]
        closed = {one.slug: f"we can't predict the time of {one.architecture}" for one in models(data) if not one.graph}
        noise = (values.get("noise") or "off") == "on"
        *running, samples, sigma, slo = settings.dials(Plan, samples={"value": 100, "hidden": not noise}, sigma={"hidden": not noise})
        return [
            kit.select("model", "Model", rows, FIRST.get(data, STANDARD[data]), disabled=closed),
            *running,
            slo,
            kit.choice("noise", "Noisy copies", [("off", "none"), ("on", "vote on each image")], "off", shows="certificate"),
            samples,
            sigma,
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan = plan_of(data_of(lab), values)
    return kit.View(
        figures=[
            tabbed(figures.places(lab, plan), "Time and robustness"), tabbed(figures.step(plan), "A training step"),
            tabbed(figures.certificate(plan), "Noisy copies"),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, plan),
        note=kit.html(notes(lab, plan)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    goal, model = plan.goal, plan.model
    clean, attacked = (100 * model.sure(figure).low for figure in ("clean", "attacked"))
    return [
        kit.card("Right, unchanged", clean, "%", note=f"at the low end; you need {goal.clean:g}%",
                 tone="good" if clean >= goal.clean else "bad"),
        kit.card("Right under attack", attacked, "%", note=f"at the low end; you need {goal.attacked:g}%",
                 tone="good" if attacked >= goal.attacked else "bad"),
        kit.card("Time per batch", plan.seconds, "s", note="at least" if model.uncounted else "as predicted",
                 tone="good" if plan.seconds <= plan.slo else "bad"),
        kit.text_card("Training time", f"{plan.hours:,.0f}", "h", note=f"on one H200; you have {goal.hours:g} h",
            tone="good" if plan.hours <= goal.hours else "bad"),
        kit.card("Step with attacks", attack_cost(plan.attack_steps), "×", note="a plain step's arithmetic"),
    ]  # fmt: skip


def formula(plan: Plan) -> str:
    steps = plan.attack_steps
    factor = line(
        "attacked over plain step =",
        fraction("2 <i>K</i> + 3", "3"),
        "=",
        fraction(f"2 × {steps} + 3", "3"),
        "=",
        kit.times(attack_cost(steps)),
    )
    times = f"{plan.members}× " if plan.members > 1 else ""
    hours = line(
        "hours =", f"{times}{plan.images:g} million images / {TRAINING_BATCH} per step ×", kit.amount(plan.step_seconds, "s"), "=",
        kit.dress(f"{plan.hours:,.0f} h"),
    )  # fmt: skip
    return factor + hours


def notes(lab: kit.Lab, plan: Plan) -> str:
    texts = [lab.fill("act2.recipe")]
    if plan.model.uncounted:
        texts.append(lab.fill("act2.partly", uncounted=plan.model.uncounted))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    limit = hit(verdict.LIMITS, plan)
    return {
        **settings.values(plan.model, "clean", "attacked", "reported"), "model": plan.model.slug,
        **settings.values(plan, "device", "batch", "dtype", "mode", "attack_steps", "members", "samples", "sigma"),
        "batch_s": round(plan.seconds, 6), "slo_s": plan.slo, "training_images": 1e6 * plan.images, "training_h": round(plan.hours, 3),
        "radius": round(plan.radius, 4), "constraint_hit": None if limit.tone == "good" else limit.name,
    }  # fmt: skip
