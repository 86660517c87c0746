"""Act I: a gain, a share of the price and a band of elasticities to the energy that is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.energy import KWH
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_15_jevons.act1 import figures, local_runs
from ironlaw.labs.lab_v2_15_jevons.act1.setting import (
    BACKFIRES,
    BILL,
    DEPENDS,
    HAND,
    LEAST,
    LESS,
    MOST,
    STEEPEST,
    Setting,
    setting_of,
)  # fmt: skip
from ironlaw.labs.lab_v2_15_jevons.fleets import DEAREST, DEVICES, HIGHEST, RENTED, SAVED, TRAINING, WORLD, context_of, earlier
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.registry.publications import published
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = (
    "energy_follows_services", "below_one_it_saves", "electricity_is_most_of_the_price", "a_batch_costs_as_much_each",
    "a_generation_is_six_times_as_efficient",
)  # fmt: skip
FOLLOWS = ("gain", "by", "share", "watts", "hour", "high")
TONES = {LESS: "good", DEPENDS: "warn", BACKFIRES: "fail"}
TITLES = {
    LESS: "Less energy, over your whole band",
    DEPENDS: "It depends on the elasticity",
    BACKFIRES: "It backfires over your whole band",
}


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        case = context_of(lab)
        by = values.get("by") or (BILL if case.by_bill else HAND)
        high = round(case.elasticity, 2) if case.elasticity else given("elasticity")
        return [
            kit.span(
                "gain", "Energy per token falls by a factor of", LEAST, MOST, round(case.gain, 2), log=True, step=0.05, presets=[2, 10]
            ),
            kit.span("low", "Elasticity, at least", 0, STEEPEST, 0.5, step=0.05),
            kit.span("high", "Elasticity, at most", 0, STEEPEST, high, step=0.05),
            kit.choice(
                "by", "Electricity's share of the price", [(HAND, "by hand"), (BILL, "from the bill")], BILL if case.by_bill else HAND
            ),
            kit.span("share", "Electricity in the price", 0, 100, round(case.share, 1), step=0.5, unit="%", hidden=by == BILL),
            kit.span("watts", "A device draws", 50, HIGHEST, round(case.watts), step=5, unit="W", hidden=by == HAND),
            kit.span("pue", "The building's PUE", 1, 2, given("pue"), step=0.05, hidden=by == HAND),
            kit.span("cents", "A kWh costs, in US cents", 2, 50, given("cents"), hidden=by == HAND),
            kit.span("hour", "A device-hour costs, in USD", 0.1, DEAREST, round(case.hour, 2), log=True, hidden=by == HAND),
            kit.span("passed", "Savings passed on to the price", 0, 100, 100, step=5, unit="%"),
            kit.span("cost", "Machine time of a token, of before", 1, 150, 100, unit="%", presets=[50, 100]),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(lab, values)
    run = lab.local_run(local_runs.NAME)
    own = figures.here(run) if run else None
    return kit.View(
        figures=[
            tabbed(figures.change(lab, setting), "Energy"),
            tabbed(figures.plane(lab, setting), "Where it backfires"),
            tabbed(figures.by_gain(setting), "By gain"),
            tabbed(figures.by_batch(), "Joules a token"),
            *([tabbed(own, "Measured here")] if own else []),
        ],
        cards=cards(setting),
        formula=formula(setting),
        banner=banner(lab, setting),
        note=kit.html(notes(lab)),
        readouts={
            "gain": round(setting.gain, 4),
            "elasticity_low": setting.low,
            "elasticity_high": setting.high,
            "share": round(setting.share, 6),
            "pass_through": setting.passed,
            "cost_change": setting.cost,
            "energy_ratio": round(setting.energy(setting.high), 6),
        },
    )


def cards(setting: Setting) -> list[dict[str, Any]]:
    high = setting.energy(setting.high)
    return [
        kit.card(
            "Energy, of before",
            100 * high,
            "%",
            tone="good" if high <= 1 else "bad",
            note=f"at an elasticity of {significant(setting.high)}",
        ),
        kit.card("Price, of before", 100 * setting.price, "%"),
        kit.card("Demand, of before", 100 * setting.demand(setting.high), "%", note=f"at {significant(setting.high)}"),
        kit.card("Backfires from", setting.limit, "", note="this elasticity on"),
        kit.card("Electricity in the price", 100 * setting.share, "%"),
        {"label": "At the meter", **energy_after(setting)},
    ]


def energy_after(setting: Setting) -> dict[str, Any]:
    """Before and after in one unit."""
    before, after = setting.joules / KWH, setting.joules * setting.energy(setting.high) / KWH
    name, size = next(((name, size) for name, size in (("TWh", 1e9), ("GWh", 1e6)) if before >= size), ("MWh", 1e3))
    return {"value": significant(after / size), "unit": name, "note": f"{significant(before / size)} {name} before"}


def banner(lab: kit.Lab, setting: Setting) -> dict[str, object]:
    state = setting.state
    low, high = (kit.amount(100 * setting.energy(each), "%") for each in (setting.low, setting.high))
    slots = {
        "low": low,
        "high": high,
        "first": significant(setting.low),
        "last": significant(setting.high),
        "limit": significant(setting.limit),
    }
    used = {LESS: ("low", "high", "first", "last"), DEPENDS: tuple(slots), BACKFIRES: ("low", "first", "limit")}[state]
    return kit.banner(TONES[state], TITLES[state], kit.html(lab.fill(f"act1.{state}", **{name: slots[name] for name in used})))


def formula(setting: Setting) -> str:
    symbols = line(
        "<i>E</i>/<i>E</i><sub>0</sub> =", fraction("1", "<i>g</i>"), "· (<i>p</i>/<i>p</i><sub>0</sub>)<sup>−<i>ε</i></sup>,",
        "&ensp;<i>p</i>/<i>p</i><sub>0</sub> = 1 − <i>π</i>(1 − <i>s</i>/<i>g</i> − (1 − <i>s</i>)<i>c</i>)",
    )  # fmt: skip
    price = line(
        "<i>p</i>/<i>p</i><sub>0</sub> = 1 −", significant(setting.passed), "· (1 −",
        fraction(significant(setting.share), significant(setting.gain)), "−", significant(1 - setting.share), "·",
        f"{significant(setting.cost)}) =", kit.dress(significant(setting.price)),
    )  # fmt: skip
    energy = line(
        "<i>E</i>/<i>E</i><sub>0</sub> =",
        fraction("1", significant(setting.gain)),
        f"· {significant(setting.price)}<sup>−{significant(setting.high)}</sup> =",
        kit.dress(significant(setting.energy(setting.high))),
    )
    return symbols + price + energy


def notes(lab: kit.Lab) -> str:
    slug, texts = lab.current_context.slug, []
    if slug == RENTED:
        texts.append(lab.fill("act1.rented", devices=f"{DEVICES:,}"))
    if slug == TRAINING:
        run = published("llama31_training").rows[0]
        texts.append(lab.fill("act1.training", hours=f"{run['hours']:g}", watts=kit.amount(float(run["power"]), "W")))
    if slug == WORLD:
        before, after = published("data_centres").rows
        texts.append(
            lab.fill(
                "act1.world",
                to=f"{after['year']:g}",
                **{"from": f"{before['year']:g}"},
                services=kit.times(float(after["services"])),
                grew=kit.times(float(after["twh"]) / float(before["twh"])),
                elasticity=significant(context_of(lab).elasticity or 0.0),
            )
        )
    if slug == SAVED:
        design = earlier(lab)
        texts.append(
            lab.fill("act1.saved", devices=f"{design['devices']:g}", machine=str(design["machine"]))
            if design
            else lab.fill("act1.saved_open")
        )
    texts.append(lab.fill("act1.band"))
    return "\n\n".join(texts)
