"""Act I: a gain, a share of the price and a band of elasticities to the energy that is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.energy import KWH
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_15_jevons.act1 import figures, local_runs
from ironlaw.labs.lab_v2_15_jevons.act1.setting import BILL, HAND, Bill, Setting, setting_of
from ironlaw.labs.lab_v2_15_jevons.fleets import DEVICES, RENTED, SAVED, TRAINING, WORLD, context_of, earlier
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.registry.publications import published
from ironlaw.systems.limits import Limit, fail, warn
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("a_batch_costs_as_much_each", "energy_follows_services", "below_one_it_saves")
FOLLOWS = ("gain", "by", "share", "watts", "hour", "high")
MORE = ("by", "watts", "pue", "cents", "hour")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        case = context_of(lab)
        by = values.get("by") or (BILL if case.by_bill else HAND)
        most = round(case.elasticity, 2) if case.elasticity else given("elasticity")
        gain, low, high, share, passed, cost = settings.dials(
            Setting, gain={"value": round(case.gain, 2)}, high={"value": most},
            share={"value": round(case.share, 1), "hidden": by == BILL},
        )  # fmt: skip
        hidden = {"hidden": by == HAND}
        source, *bill = settings.dials(
            Bill, by={"value": BILL if case.by_bill else HAND}, watts={"value": round(case.watts), **hidden}, pue=hidden, cents=hidden,
            hour={"value": round(case.hour, 2), **hidden},
        )  # fmt: skip
        return [gain, low, high, source, share, *bill, passed, cost]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(lab, values)
    run = lab.local_run(local_runs.NAME)
    own = figures.here(run) if run else None
    return kit.View(
        figures=[
            tabbed(figures.change(lab, setting), "Energy"),
            tabbed(figures.plane(lab, setting), "Where it backfires"),
            tabbed(figures.by_batch(), "Joules per token"),
            *([tabbed(own, "Measured here")] if own else []),
        ],
        cards=cards(setting),
        formula=formula(setting),
        banner=settings.verdict(lab, "act1", LIMITS, setting),
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
            "Energy used",
            100 * high,
            "%",
            tone="good" if high <= 1 else "bad",
            note=f"of what it was, at elasticity {significant(setting.high)}",
        ),
        kit.card("Price", 100 * setting.price, "%", note="of what it was"),
        kit.card("Demand", 100 * setting.demand(setting.high), "%", note=f"of what it was, at elasticity {significant(setting.high)}"),
        limit_card(setting),
        kit.card("Electricity in the price", 100 * setting.share, "%"),
        {"label": "On the meter", **energy_after(setting)},
    ]


def limit_card(setting: Setting) -> dict[str, Any]:
    if math.isinf(setting.limit):
        return {"label": "Backfires above", "value": "never", "unit": "", "note": "the price doesn't fall"}
    return kit.card("Backfires above", setting.limit, "", note="this elasticity")


def energy_after(setting: Setting) -> dict[str, Any]:
    """Before and after in one unit."""
    before, after = setting.joules / KWH, setting.joules * setting.energy(setting.high) / KWH
    name, size = next(((name, size) for name, size in (("TWh", 1e9), ("GWh", 1e6)) if before >= size), ("MWh", 1e3))
    return {"value": significant(after / size), "unit": name, "note": f"{significant(before / size)} {name} before"}


def _slots(*names: str) -> Callable[[Setting], dict[str, object]]:
    def slots(setting: Setting) -> dict[str, object]:
        low, high = (kit.amount(100 * setting.energy(each), "%") for each in (setting.low, setting.high))
        known = {
            "low": low, "high": high, "first": significant(setting.low), "last": significant(setting.high),
            "limit": significant(setting.limit),
        }  # fmt: skip
        return {name: known[name] for name in names}

    return slots


# less energy at any elasticity of the band, at some, or at none
LIMITS = (
    Limit(
        "less", "good", "Less energy, over your whole range", lambda setting: setting.energy(setting.high) <= 1,
        _slots("low", "high", "first", "last"),
    ),
    warn(
        "depends", "It depends on the elasticity", lambda setting: setting.energy(setting.low) <= 1,
        _slots("low", "high", "first", "last", "limit"),
    ),
    fail("backfires", "It backfires over your whole range", slots=_slots("low", "first", "limit")),
)  # fmt: skip


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
