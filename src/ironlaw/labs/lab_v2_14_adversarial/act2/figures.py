"""Act II's pictures: the table by time and by what an attack leaves, a training step pass by pass, and what noisy copies certify."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.numerics.pareto_nd import LESS, MORE
from ironlaw.engine.robustness import largest_radius
from ironlaw.labs.lab_v2_14_adversarial.act2 import timed
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import MODES, Plan
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, NAMES, STANDARD, model, models
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import half_decades, up_to
from ironlaw.pictures.front import Entry, front
from ironlaw.pictures.lines import lines
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.machines import hardware
from ironlaw.widget.figure import Axis, Figure, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

SHARE = Axis("linear", "right under attack", "%", (-6.0, 100.0), ticks=(0.0, 20.0, 40.0, 60.0, 80.0, 100.0))
QUESTION = 10  # steps of attack that were timed
ASKED = Plan(model(CIFAR, STANDARD[CIFAR]))  # the ordinary network of the question
SAME = ("device", "batch", "dtype", "mode")  # where the picture shows the question's case
COUNTS = tuple(10 ** (1 + k / 8) for k in range(33))


def places(lab: kit.Lab, plan: Plan) -> Figure:
    """Every model of the table on this device, at this batch; the plan's own with its members. Noisy copies have a picture of their own.
    Where it shows the question's case, the prediction and the truth are times as well."""
    entries = []
    for one in models(plan.model.data):
        if not one.graph:
            continue
        here = replace(plan, model=one, samples=0, members=plan.members if one == plan.model else 1)
        sure = one.sure("attacked")
        seconds = here.seconds
        entries.append(
            Entry(
                one.name,
                seconds,
                one.attacked,
                low=100 * sure.low,
                high=100 * sure.high,
                claimed=one.reported,
                partly=bool(one.uncounted),
                more=((one.architecture, ""),),
            )
        )
    limits = [
        mark("rule", "warn", x=plan.slo, dash=True, label=f"limit {format_quantity(plan.slo, 's')}", name="to answer within", id="slo",
             hover=[("to answer within", exact(plan.slo, "s"))], drag=hold("slo", per=1e-3)),
        mark("rule", "good", y=plan.goal.attacked, dash=True, label=f"at least {plan.goal.attacked:g}%", name="you need", id="asked",
             hover=[("you need", exact(plan.goal.attacked, "%"))]),
    ]  # fmt: skip
    option = lab.choice("act2")
    if option and plan.model.data == CIFAR and all(getattr(plan, name) == getattr(ASKED, name) for name in SAME):
        limits += reveal_picture.rules(float(option.value), float(lab.question("act2").answer), "×", base=ASKED.seconds)
    at = [entry.x for entry in entries] + [value for one in limits for key, value in one.at if key == "x"]
    time = Axis("log", "time per batch", "s", half_decades(0.9 * min(at), 1.1 * max(at)))
    return front(
        entries, time, SHARE, "Robust networks take longer", senses=(LESS, MORE), chosen=plan.model.name, extra=limits, id="places",
        note=f"{NAMES[plan.model.data]} on {hardware(plan.device).name}, batch {plan.batch}, {MODES[plan.mode]}; predicted",
    )  # fmt: skip


def step(plan: Plan) -> Figure:
    """Passes of a training step in plain steps: without an attack, against the plan's, and the question's as timed."""
    steps = plan.attack_steps
    rows = {"a plain step": passes(0), **{f"against {count} steps": passes(count) for count in sorted({steps, QUESTION}) if count}}
    rows[f"{QUESTION} steps, timed"] = [
        Part("timed on an H200", timed.ratio(QUESTION), "accent", source="ResNet-18, batch 1,024, compiled")
    ]
    return stack(rows, "×", "A training step", chosen=f"against {steps} steps", label="in plain steps", id="step",
                   note="counted in passes, and timed for ResNet-18")  # fmt: skip


def passes(steps: int) -> list[Part]:
    """The passes of a training step, in thirds of a plain one."""
    third = 1 / 3
    attack = [Part("attack, forward", steps * third, "fail"), Part("attack, back to the image", steps * third, "fail", pattern=True)]
    back = Part("back to the image", third, "compute", pattern=True)
    return [*attack, Part("forward", third, "compute"), back, Part("back to the weights", third, "ridge")]


def certificate(plan: Plan) -> Figure:
    """The largest L2 radius that so many noisy copies certify, and how far the box's corner is."""
    name = f"noise of {plan.sigma:g}"
    samples = float(plan.samples or 100)
    grid = sorted({*COUNTS, samples})
    curve = [(count, largest_radius(plan.sigma, round(count))) for count in grid]
    farthest = max(plan.box, *(radius for _, radius in curve))
    corner = mark("rule", "good", y=plan.box, dash=True, label=f"the box's corner, {plan.box:.2f}", name="the box's corner", id="corner",
                  hover=[("distance", exact(plan.box))])  # fmt: skip
    return lines(
        {name: curve}, Axis("log", "noisy copies of each image, all classified correctly", "", (10.0, 1e5)),
        Axis("linear", "certified radius, at most", "", (0.0, up_to(1.15 * farthest))), "What noisy copies can prove",
        extra=[corner], now=(name, samples), drag=hold("samples"), id="certificate",
        note=f"with one chance in a thousand of being wrong; in the box every pixel of a {NAMES[plan.model.data]} image moves by ε",
    )  # fmt: skip
