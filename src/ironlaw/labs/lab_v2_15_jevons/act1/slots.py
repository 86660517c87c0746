"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine import rebound
from ironlaw.labs.lab_v2_15_jevons.act1.setting import story
from ironlaw.labs.lab_v2_15_jevons.fleets import RENTED, context
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.registry.publications import published
from ironlaw.systems.energy_fleets import energy_server
from ironlaw.units import significant

TENTH = 0.1  # electricity's share of the reflection's price


def message() -> dict[str, object]:
    return {}


def lock() -> dict[str, object]:
    return {}


def truth(lab: kit.Lab) -> str:
    return f"{kit.amount(float(lab.question('act1').answer), '%')} of today's energy"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.points(float(option.value), float(lab.question("act1").answer)) if option else ""


def reveal() -> dict[str, object]:
    case = story()
    return {
        "price": kit.percent(case.price), "demand": kit.percent(case.demand(case.high)), "energy": kit.percent(case.energy(case.high)),
        "limit": significant(case.limit), "whole": kit.percent(case.at(share=1.0).energy(case.high)),
        "both": kit.percent(case.at(cost=0.5).energy(case.high)), "tenth": kit.percent(case.at(share=TENTH).energy(case.high)),
        "rented": kit.amount(context(RENTED).share, "%"), "fall": kit.percent(1 - case.price),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    elasticity, cooled, dearer = story().high, given("pue_poor") / given("pue_good"), 1 + given("certificate") / 100
    return {
        "cooled": kit.percent(rebound.energy(cooled, elasticity, TENTH)),
        "batched": kit.percent(rebound.energy(2, elasticity, TENTH, 1, 0.5)),
        "certified": kit.percent(rebound.energy(1, elasticity, 0.0, 1, dearer)), "cheaper": kit.percent(1 - rebound.price(cooled, TENTH)),
        "price": kit.percent(rebound.price(2, TENTH, 1, 0.5)),
    }  # fmt: skip


def peek() -> dict[str, object]:
    before, after = (energy_server("h100_sxm", "llama3_70b", int(given(size))) for size in ("small", "large"))
    gain, time = before.joules / after.joules, before.device_s / after.device_s
    gemini = published("gemini_prompt").rows[0]
    return {
        "one": significant(rebound.threshold(2, 1.0)), "tenth": significant(rebound.threshold(2, TENTH)),
        "fiftieth": significant(rebound.threshold(2, 0.02)), "marginal": significant(rebound.marginal_threshold(2, TENTH)),
        "gain": kit.times(gain), "time": kit.times(time), "below": significant(rebound.threshold(gain, TENTH, 1, 1 / time), 2),
        "month": str(gemini["month"]), "prompt": kit.amount(float(gemini["wh"]), "Wh"), "fell": kit.times(float(gemini["fell"])),
    }  # fmt: skip
