"""Act I's words: truth, distance and slots, for the prediction's own chain."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.laws import Slowest, law
from ironlaw.engine.serving.tails import at_least_one
from ironlaw.labs.lab_v2_12_slo.act1.composition import Setting
from ironlaw.labs.lab_v2_12_slo.services import EXPONENTIAL, LOGNORMAL, PARETO

CASE = Setting()  # five in a row, exponential, P99 of each 100 ms
PAGE = replace(CASE, steps=1, calls=100)
PAIR = replace(CASE, steps=2)
HEAVY = replace(CASE, law=PARETO, index=0.8)


def message() -> dict[str, object]:
    return {"services": _count(CASE.steps), "each": kit.amount(CASE.p99, "s"), "promise": kit.amount(CASE.added, "s")}


def lock() -> dict[str, object]:
    return {"services": _count(CASE.steps), "each": kit.amount(CASE.p99, "s")}


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act1").answer), "s")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal() -> dict[str, object]:
    return {
        "whole": kit.amount(CASE.seconds, "s"), "added": kit.amount(CASE.added, "s"),
        "ratio": kit.amount(100 * CASE.seconds / CASE.added, "%"),
        "million": kit.dress(f"{1e6 * CASE.over:.1f}"), "misses": kit.amount(100 * CASE.bound, "%"), "each": kit.amount(CASE.p99, "s"),
        "together": kit.amount(CASE.at(1.0).quantile(CASE.p), "s"), "page": kit.amount(100 * PAGE.bound, "%"),
        "calls": f"{PAGE.calls}", "heavy": kit.amount(HEAVY.seconds, "s"), "mean": kit.amount(CASE.steps * CASE.p99 / math.log(100), "s"),
        "some": kit.amount(100 * CASE.whole.tail(CASE.p99), "%"), "slowest": kit.amount(Slowest(CASE.one,
        CASE.steps).quantile(CASE.p), "s"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    """Two of the services alone: independent, slow at the same moments, slow in turns."""
    turns = CASE.one.quantile(0.995) + CASE.one.quantile(0.005)
    return {
        "each": kit.amount(CASE.p99, "s"), "apart": kit.amount(PAIR.seconds, "s"), "together": kit.amount(PAIR.at(1.0).quantile(0.99), "s"),
        "turns": kit.amount(turns, "s"), "worst": worst(),
    }  # fmt: skip


def worst() -> kit.Markup:
    """P99 of two in a row by the least lucky dependence: the slowest hundredth of each, paired in reverse, ends at 2·Q(0.995) (Makarov)."""
    return kit.amount(2 * CASE.one.quantile(0.995), "s")


def peek() -> dict[str, object]:
    wide = replace(CASE, law=LOGNORMAL, spread=3.0)
    return {
        "mean": kit.amount(CASE.p99 / math.log(100), "s"), "each": kit.amount(CASE.p99, "s"), "whole": kit.amount(CASE.seconds, "s", 4),
        "over": kit.amount(100 * CASE.over, "%"), "services": _count(CASE.steps), "bound": kit.amount(100 * CASE.bound, "%"),
        "page": kit.amount(100 * at_least_one(0.01, 100), "%", 4), "added": kit.amount(CASE.added, "s"),
        "wide": kit.amount(wide.seconds, "s"), "index": f"{HEAVY.shape:g}", "heavy": kit.amount(HEAVY.seconds, "s"), "worst": worst(),
        "narrow": kit.amount(replace(wide, spread=2.0).seconds, "s"), "median": kit.amount(law(EXPONENTIAL, CASE.p99).quantile(0.5), "s"),
    }  # fmt: skip


def _count(number: int) -> str:
    return {2: "two", 3: "three", 5: "five"}[number]
