"""Act I: services in a row and calls at once, their law and what they share, to what a user sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import line
from ironlaw.labs.lab_v2_12_slo.act1 import figures, local_runs
from ironlaw.labs.lab_v2_12_slo.act1.composition import Setting, setting_of
from ironlaw.labs.lab_v2_12_slo.services import (
    ANSWER,
    FIRST_TOKEN,
    HERE,
    LOGNORMAL,
    MEASURED,
    PARETO,
    story,
)  # fmt: skip
from ironlaw.pictures.reveal_picture import rules
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("leaves_are_independent", "percentiles_add_up", "tail_63")
FOLLOWS = ("steps", "calls", "law", "p99", "first")
MORE = ("p", "first")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        run = lab.local_run(local_runs.NAME)
        seen = bool(run and local_runs.quantiles(run))
        begin, slug = story(lab.current_context.slug, seen), lab.current_context.slug
        law = values.get("law") or begin.law
        barred = {} if seen else {MEASURED: "run “Five calls in a row” below, and come back"}
        return settings.dials(
            Setting, steps={"value": begin.steps}, calls={"value": begin.calls}, law={"value": begin.law, "disabled": barred},
            spread={"hidden": law != LOGNORMAL}, index={"hidden": law != PARETO},
            p99={"value": round(1000 * begin.p99), "hidden": law == MEASURED}, first={"value": FIRST_TOKEN, "hidden": slug != ANSWER},
        )  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(lab, values)
    run, option = lab.local_run(local_runs.NAME), lab.choice("act1")
    marks = rules(float(option.value), float(lab.question("act1").answer), "s") if option else ()
    return kit.View(
        figures=[
            tabbed(figures.density(setting, marks), "How long"), tabbed(figures.over(setting), "How many are over"),
            *([tabbed(figures.here(run), "Measured here")] if run else []),
        ],
        cards=cards(setting),
        formula=formula(setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            **settings.values(setting, "steps", "calls", "law", "dependence", "over"),
            "quantile": setting.p, "one_s": round(setting.single, 9), "whole_s": round(setting.seconds, 9),
        },
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    within = 1 - setting.whole.tail(setting.single)
    ratio, sum_of = setting.seconds / setting.added, "the sum of the limits"
    needs = kit.card("The whole needs", 100 * ratio, "%", note=f"of {sum_of}") if ratio <= 1 else kit.text_card(
        "The whole needs", f"{significant(ratio)}×", note=f"as much as {sum_of}")  # fmt: skip
    return [
        kit.card(f"{setting.name} of the whole", setting.seconds, "s"),
        needs,
        share_card("Over the sum", setting.over, f"bound: {figures.share_over(setting.missed)}"),
        share_card("Within one call's limit", within, "of the requests"),
    ]


def share_card(label: str, share: float, note: str) -> dict[str, Any]:
    """A share in percent, or that it is under what is worth telling."""
    return kit.text_card(label, figures.share_over(share).removesuffix("%").rstrip(), "%", note=note)


def formula(setting: Setting) -> str:
    """The bound holds for independent calls; where one cause slows all in a share d of the requests, that share misses as one call does."""
    late, d = kit.amount(100 * (1 - setting.p), "%"), setting.dependence
    apart = f"1 − (1 − {late})<sup>{setting.count:,}</sup>"
    some = apart if not d else f"{significant(d)} · {late} + {significant(1 - d)} · ({apart})"
    missed = line(f"some call over its limit, {some} =", kit.dress(figures.share_over(setting.missed)))
    if setting.calls > 1 and setting.steps == 1 and not setting.first:
        power = f"<i>F</i>(<i>t</i>)<sup>{setting.calls:,}</sup>"
        law = power if not d else f"{significant(d)} <i>F</i>(<i>t</i>) + {significant(1 - d)} {power}"
        return line(f"<i>P</i>(slowest ≤ <i>t</i>) = {law}") + missed
    row = line(
        f"<i>P</i>(sum > {significant(1000 * setting.added)} ms) =",
        kit.dress(figures.share_over(setting.over)),
        "≤",
        "some call over its limit",
    )
    return missed + row


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts, slug = [], lab.current_context.slug
    if slug == ANSWER:
        texts.append(lab.fill("act1.first_open", first=kit.amount(FIRST_TOKEN, "s")))
    if slug == HERE and setting.law != MEASURED:
        texts.append(lab.fill("act1.here_open"))
    if setting.dependence:
        texts.append(lab.fill("act1.dependence"))
    if setting.law == PARETO and setting.shape <= 1:
        texts.append(lab.fill("act1.no_mean"))
    return "\n\n".join(texts)
