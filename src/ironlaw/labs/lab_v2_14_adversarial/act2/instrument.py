"""Act II: a model, a device and a recipe to what it withstands, how long it takes, and what training it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.robustness import attack_cost
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_14_adversarial.act2 import figures, verdict
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import DEVICES, FORMATS, MODES, TRAINING_BATCH, Plan, plan_of, target
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, STANDARD, data_of, models
from ironlaw.registry.machines import hardware
from ironlaw.widget.figure import tabbed

CLAIMS = ("k_plus_one", "arithmetic_is_time", "training_step_is_foretold", "a_hundred_copies_certify")
FOLLOWS = ("model",)
FIRST = {CIFAR: "Alfarra2020ClusTR"}


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        data = data_of(lab)
        rows = [(one.slug, f"{one.name}: {one.architecture}") for one in models(data)]
        closed = {one.slug: f"no graph of ours stands for {one.architecture}" for one in models(data) if not one.graph}
        noise = (values.get("noise") or "off") == "on"
        return [
            kit.select("model", "Model", rows, FIRST.get(data, STANDARD[data]), disabled=closed),
            kit.select("device", "Answers on", [(slug, hardware(slug).name) for slug in DEVICES], "l4"),
            kit.span("batch", "Images in a batch", 1, 256, 32, whole=True, log=True, steps=[2**k for k in range(9)]),
            kit.choice("dtype", "Numbers", list(FORMATS.items()), "fp16"),
            kit.choice("mode", "Runs", list(MODES.items()), "eager"),
            kit.span("members", "Networks that vote", 1, 5, 1, whole=True, shows="places"),
            kit.span("steps", "Steps of attack in training", 1, 20, 10, whole=True, shows="step"),
            kit.span("images", "Images trained on, in millions", 10, 1000, 100, log=True, steps=[10, 20, 50, 100, 200, 500, 1000]),
            kit.choice("noise", "Noisy copies", [("off", "none"), ("on", "vote on each image")], "off", shows="certificate"),
            kit.span("samples", "Copies of each image", 10, 100_000, 100, whole=True, log=True, hidden=not noise, shows="certificate"),
            kit.span("sigma", "Noise, of the range of a pixel", 0.1, 1.5, 0.25, step=0.05, hidden=not noise, shows="certificate"),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan = plan_of(lab, data_of(lab), values)
    return kit.View(
        figures=[
            tabbed(figures.places(plan), "Time and robustness"), tabbed(figures.step(lab, plan), "A training step"),
            tabbed(figures.certificate(plan), "Noisy copies"),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=verdict.banner(lab, plan, bool(values.get("moving"))),
        note=kit.html(notes(lab, plan)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    goal, model = plan.goal, plan.model
    clean, attacked = (100 * model.sure(figure).low for figure in ("clean", "attacked"))
    return [
        kit.card("Right as they are", clean, "%", note=f"at least, of {goal.clean:g} % asked for",
                 tone="good" if clean >= goal.clean else "bad"),
        kit.card("Right under attack", attacked, "%", note=f"at least, of {goal.attacked:g} % asked for",
                 tone="good" if attacked >= goal.attacked else "bad"),
        kit.card("A batch takes", plan.seconds, "s", note="at least" if model.uncounted else "as predicted",
                 tone="good" if plan.seconds <= plan.slo else "bad"),
        {"label": "Training takes", "value": f"{plan.hours:,.0f}", "unit": "h", "note": f"on one H200, of {goal.hours:g} h",
         "tone": "good" if plan.hours <= goal.hours else "bad"},
        kit.card("An attacked step", attack_cost(plan.attack_steps), "×", note="of a plain one, by arithmetic"),
    ]  # fmt: skip


def formula(plan: Plan) -> str:
    steps = plan.attack_steps
    factor = line("a step:", fraction("2 <i>K</i> + 3", "3"), "=", fraction(f"2 × {steps} + 3", "3"), "=", kit.times(attack_cost(steps)))
    times = f"{plan.members} × " if plan.members > 1 else ""
    hours = line(
        "hours =", f"{times}{plan.images:g} million images / {TRAINING_BATCH} a step ×", kit.amount(plan.step_seconds, "s"), "=",
        kit.dress(f"{plan.hours:,.0f} h"),
    )  # fmt: skip
    return factor + hours


def notes(lab: kit.Lab, plan: Plan) -> str:
    saved = target(lab)[1]
    texts = [lab.fill("act2.target_saved" if saved else "act2.target_open", slo=kit.amount(plan.slo, "s")), lab.fill("act2.recipe")]
    if plan.model.uncounted:
        texts.append(lab.fill("act2.partly", uncounted=plan.model.uncounted))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    hit = verdict.state(plan)
    return {
        "model": plan.model.slug, "clean": plan.model.clean, "attacked": plan.model.attacked, "reported": plan.model.reported,
        "device": plan.device, "batch": plan.batch, "dtype": plan.dtype, "mode": plan.mode, "batch_s": round(plan.seconds, 6),
        "slo_s": plan.slo, "attack_steps": plan.attack_steps, "training_images": 1e6 * plan.images, "training_h": round(plan.hours, 3),
        "members": plan.members, "samples": plan.samples, "sigma": plan.sigma, "radius": round(plan.radius, 4),
        "constraint_hit": None if hit == verdict.WORKS else hit,
    }  # fmt: skip
