"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.cluster.failures import daly, goodput, mtbf, optimum, young
from ironlaw.labs.lab_v2_07_checkpoint.act1.interval import MINUTE, Setting, near_best
from ironlaw.labs.lab_v2_07_checkpoint.clusters import HOUR, RUN, llama
from ironlaw.registry.runs import about

SAVE = 60.0  # seconds, of the question
RESTART = 300.0  # seconds, where the instrument begins
HOURLY = 3600.0  # the lead's own interval
OFTEN = 4  # times the GPUs, of the reflection


def story() -> Setting:
    """The question's own case; restarts cost the same at every interval, and are left out."""
    job = llama()
    return Setting(job.gpus, job.unit, SAVE, 0.0, HOURLY)


def message() -> dict[str, object]:
    stops = about(RUN)["interruptions"]
    return {"stops": stops["unexpected"], "days": stops["days"], "gpus": f"{stops['devices']:,}"}


def lock() -> dict[str, object]:
    stops = about(RUN)["interruptions"]
    return {"save": kit.amount(SAVE, "s"), "gpus": f"{stops['devices']:,}", "stops": stops["unexpected"], "days": stops["days"]}


def truth(lab: kit.Lab) -> str:
    return kit.amount(MINUTE * float(lab.question("act1").answer), "s")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    case = story()
    option = lab.choice("act1")
    own = case.at(MINUTE * float(option.value)) if option else case
    low, high = near_best(case)
    return {
        "between": kit.amount(case.between, "s"), "best": kit.amount(case.best, "s"),
        "least": kit.amount(100 * case.at(case.best).wasted, "%"),
        "own": kit.amount(own.interval / MINUTE, "min"), "cost": kit.amount(100 * own.wasted, "%"),
        "hourly": kit.amount(100 * case.wasted, "%"),
        "low": kit.amount(low, "s"), "high": kit.amount(high, "s"), "twice": kit.amount(100 * case.at(2 * case.best).wasted, "%"),
        "minute": kit.amount(100 * case.at(MINUTE).wasted, "%"),
        "half": _wasted_by(lab, "half"), "whole": _wasted_by(lab, "failure"), "restart": kit.amount(RESTART, "s"),
        "with_restart": kit.amount(100 * replace(case, restart=RESTART).at(case.best).wasted, "%"),
    }  # fmt: skip


def _wasted_by(lab: kit.Lab, choice: str) -> str:
    """With an option's own interval, as it is written there."""
    (option,) = (each for each in lab.question("act1").options if each.id == choice)
    return kit.amount(100 * story().at(MINUTE * float(option.value)).wasted, "%")


def reflection() -> dict[str, object]:
    case = story()
    fewer = float(mtbf(case.unit, OFTEN * case.gpus))
    return {
        "gpus": f"{case.gpus:,}", "more": f"{OFTEN * case.gpus:,}", "between": kit.amount(case.between, "s"),
        "fewer": kit.amount(fewer, "s"),
        "before": kit.amount(case.best, "s"), "after": kit.amount(optimum(SAVE, fewer), "s"), "save": kit.amount(SAVE, "s"),
        "quarter": kit.amount(100 * (1 - float(goodput(case.best / OFTEN, SAVE, 0.0, fewer).goodput)), "%"),
        "least": kit.amount(100 * (1 - float(goodput(optimum(SAVE, fewer), SAVE, 0.0, fewer).goodput)), "%"),
        "same": kit.amount(100 * (1 - float(goodput(case.best, SAVE, 0.0, fewer).goodput)), "%"),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = story()
    between = case.between
    return {
        "save": kit.amount(SAVE, "s"), "between": kit.amount(between, "s"), "young": kit.amount(float(young(SAVE, between)), "s", 4),
        "daly": kit.amount(float(daly(SAVE, between)), "s", 4), "exact": kit.amount(optimum(SAVE, between), "s", 4),
        "unit": kit.dress(f"{case.unit / HOUR:,.0f} h"), "gpus": f"{case.gpus:,}",
    }  # fmt: skip
