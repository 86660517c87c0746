"""Act II: servers, a site, the price and what can wait, to the carbon of a year."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.energy import KWH, YEAR, of_run
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_15_jevons.act2 import figures, verdict
from ironlaw.labs.lab_v2_15_jevons.act2.plan import (
    MOST,
    MS,
    SERVERS,
    TONNE,
    Plan,
    earlier_rate,
    plan_of,
    requests_of,
    story_requests,
)  # fmt: skip
from ironlaw.labs.lab_v2_15_jevons.fleets import SAVED
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.systems.energy_fleets import idle_power
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("a_prompt_takes_three_watt_hours", "embodied_carbon_is_negligible", "batching_halves_energy")
FOLLOWS = ("requests", "servers")
MORE = ("low", "high", "years", "limit", "requests")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        requests = requests_of(lab)
        servers = max(1, min(MOST, round(given("servers") * requests / story_requests())))
        return settings.dials(Plan, servers={"value": servers}, requests={"value": round(requests)})

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan = plan_of(values)
    return kit.View(
        figures=[
            tabbed(figures.four_changes(lab, plan), "Four changes"), tabbed(figures.carbon(plan), "Carbon"),
            tabbed(figures.hours(plan), "A day"),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, plan),
        note=kit.html(notes(lab, plan)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    fleet, hit = plan.fleet, verdict.state(plan)
    return [
        kit.card(
            "Carbon per year",
            plan.tonnes,
            "t",
            tone="good" if plan.tonnes <= given("budget") else "bad",
            note=f"at elasticity {significant(plan.most)}",
        ),
        backfires(plan),
        kit.card("Between tokens", plan.p99, "s", tone="bad" if hit == verdict.SLO else "", note=f"P99; SLO {plan.limit / MS:g} ms"),
        kit.card(
            "Peak power", fleet.peak_power, "W", tone="bad" if hit == verdict.POWER else "", note=f"site: {significant(plan.feed / 1e3)} kW"
        ),
        busy(plan),
        kit.card("Price", 100 * fleet.price, "%", note="of what it was"),
    ]


def backfires(plan: Plan) -> dict[str, Any]:
    if plan.fleet.gain <= 1:
        return kit.text_card("Backfires above", "never", tone="", note="a token takes no less energy")
    if math.isinf(plan.fleet.threshold):
        return kit.text_card("Backfires above", "never", tone="good", note="the price stays")
    tone = "bad" if plan.high > plan.fleet.threshold else "good"
    return kit.card("Backfires above", plan.fleet.threshold, "", tone=tone, note="this elasticity")


def busy(plan: Plan) -> dict[str, Any]:
    ends = [100 * plan.fleet.utilisation(each) for each in (plan.least, plan.most)]
    text = (
        significant(ends[0], 2)
        if significant(ends[0], 2) == significant(ends[1], 2)
        else " to ".join(significant(each, 2) for each in sorted(ends))
    )
    bad = verdict.state(plan) in (verdict.SHORT, verdict.IDLE)
    return kit.text_card("Machines busy", text, "%", tone="bad" if bad else "", note="over your range")


def formula(plan: Plan) -> str:
    carbon = plan.carbon(plan.most)
    symbols = line(
        "<i>C</i> = <i>Q</i>(<i>p</i>/<i>p</i><sub>0</sub>)<sup>−<i>ε</i></sup> · <i>J</i> · PUE · <i>I</i> + idle +",
        fraction("embodied", "years kept"),
    )
    return symbols + line(
        "=",
        " + ".join(kit.amount(each / TONNE, "t") for each in (carbon.busy, carbon.idle, carbon.embodied)),
        "=",
        kit.amount(carbon.total / TONNE, "t"),
    )


def notes(lab: kit.Lab, plan: Plan) -> str:
    texts = []
    if lab.current_context.slug == SAVED:
        rate = earlier_rate(lab)
        texts.append(lab.fill("act2.saved", rate=significant(rate)) if rate else lab.fill("act1.saved_open"))
    texts.append(lab.fill("act2.about", idle=kit.amount(idle_power(), "W")))
    if plan.server.startswith("8b"):
        texts.append(lab.fill("act2.smaller"))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    _, machine, model, limit = SERVERS[plan.server]
    fleet, limit_hit = plan.fleet, verdict.state(plan)
    return {
        **settings.values(plan, "servers", "region", "pue", "passed", "deferrable", "years"),
        "machine": machine, "model": model, "limit": limit, "devices": plan.servers * fleet.after.devices,
        "grams_per_kwh": round(fleet.intensity(plan.most), 3), "joules_per_token": round(fleet.after.joules, 6),
        "kwh_year": round(of_run(YEAR, fleet.demand(plan.most) * fleet.after.joules, plan.pue) / KWH),
        "power_w": round(fleet.peak_power), "p99_s": plan.p99, "tonnes_low": round(plan.carbon(plan.least).total / TONNE, 3),
        "tonnes": round(plan.tonnes, 3), "constraint_hit": None if limit_hit == verdict.WORKS else limit_hit,
    }  # fmt: skip
