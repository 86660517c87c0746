"""Act II: a classifier of digits, trained with noise, within a budget that the runs before it count against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.kit.instrument import stand
from ironlaw.labs.lab_v2_13_privacy.act2 import figures, verdict
from ironlaw.labs.lab_v2_13_privacy.act2.plan import Plan, records_near
from ironlaw.labs.lab_v2_13_privacy.runs import records_of, tiny
from ironlaw.registry.private_runs import CLASSES, FEATURES
from ironlaw.systems.fields import parameters
from ironlaw.systems.limits import hit
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("clipping_harder_costs_privacy", "tuning_runs_are_free", "the_classical_noise_is_enough")
FOLLOWS = ("records", "one_in")
SOURCE = "UCI Optical Recognition of Handwritten Digits, CC BY 4.0"
KEPT = tuple(parameters(Plan))
MORE = ("records", "one_in", "accountant", "pins")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        records = records_near(lab.current_context.slug)
        noise = float(values.get("noise") or Plan.noise)
        turned = settings.dials(Plan, records={"value": records}, one_in={"value": 10 ** len(f"{records}")})
        return [*turned, kit.pins("pins", "Designs that you keep", KEPT, f"noise {noise:g}")]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan = settings.read(Plan, values)
    return kit.View(
        figures=[
            tabbed(figures.four_changes(lab, plan), "Four changes"),
            tabbed(figures.designs(plan, kept(lab, values), bool(values.get("moving"))), "Designs"),
            tabbed(figures.by_noise(plan), "By noise"),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, plan),
        note=kit.html(notes(lab, values, plan)),
        readouts=readouts(plan),
    )  # fmt: skip


def kept(lab: kit.Lab, values: Mapping[str, Any]) -> list[tuple[str, Plan]]:
    """The designs that the learner pinned; one that can't stand where it was is put where it can, as the dials are."""
    return [(pin["name"], settings.read(Plan, stand(dials(lab), pin["values"])[1])) for pin in values.get("pins") or ()]


def cards(plan: Plan) -> list[dict[str, Any]]:
    over, short = plan.epsilon > verdict.BUDGET, plan.surely < verdict.LEAST
    return [
        kit.card("ε of all runs", plan.epsilon, tone="bad" if over else "good", note=f"budget {verdict.BUDGET:g}"),
        kit.card("Accuracy", 100 * plan.trained.accuracy, "%", tone="bad" if short else "good",
                 note=f"± {significant(200 * plan.trained.error, 2)}, two standard errors"),
        kit.card("Without noise", 100 * plan.plain.accuracy, "%", note="or clipping"),
        kit.card("Signal over noise", plan.ratio, tone="bad" if plan.ratio < verdict.FAINT else "", note="of the first mean gradient"),
        kit.card("Gradients clipped", 100 * plan.trained.clipped, "%"),
        kit.card("Correct guesses, at most", 100 * plan.attack, "%", note="allowed by ε"),
    ]  # fmt: skip


def formula(plan: Plan) -> str:
    total = line(
        "ε(<i>q</i>, <i>σ</i>, <i>runs</i> · <i>T</i>, <i>δ</i>) = ε(", f"{100 * plan.rate:g}%,", f"{plan.noise:g},",
        f"{plan.runs:,} × {plan.steps:,},", f"{tiny(plan.delta)}) =", kit.amount(plan.epsilon),
    )  # fmt: skip
    shared = line(
        "noise on the mean gradient =", fraction("<i>σC</i>√<i>d</i>", "<i>qN</i>"), "=",
        fraction(f"{plan.noise:g} × {plan.clip:g} × √{FEATURES * CLASSES}", significant(plan.batch)), "=", significant(plan.ground),
    )  # fmt: skip
    return total + shared


def notes(lab: kit.Lab, values: Mapping[str, Any], plan: Plan) -> str:
    slots = {"records": f"{plan.records:,}", "tested": f"{plan.trained.tested:,}"}
    texts = [lab.fill("act2.real", source=SOURCE, **slots) if plan.real else lab.fill("act2.made_up", **slots)]
    asked = records_of(lab)
    if plan.records == records_near(lab.current_context.slug) != asked:
        texts.append(lab.fill("act2.not_trained", asked=f"{asked:,}", records=f"{plan.records:,}"))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    limit = hit(verdict.LIMITS, plan).name
    return {
        "records": plan.records, "rate": plan.rate, "noise": plan.noise, "clip": plan.clip, "epochs": plan.epochs, "runs": plan.runs,
        "delta": plan.delta, "accountant": plan.accountant, "epsilon": round(plan.epsilon, 6), "accuracy": round(plan.trained.accuracy, 6),
        "attack": round(plan.attack, 6), "constraint_hit": None if limit == verdict.WORKS else limit,
    }  # fmt: skip
