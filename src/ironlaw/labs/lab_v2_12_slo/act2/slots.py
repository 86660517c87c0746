"""Act II's words: truth, distance and slots, for the prediction's own server."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from ironlaw import kit
from ironlaw.engine.serving.availability import in_series, replicated
from ironlaw.engine.serving.retries import attempts, largest_retries
from ironlaw.engine.serving.service_layers import Layers
from ironlaw.engine.serving.storms import Storm, run_storm
from ironlaw.labs.lab_v2_12_slo.act2.plan import (
    AFTER,
    LASTS,
    LATENCY,
    NEWEST,
    PREMISE,
    PROMISED,
    SERVICE,
    SPIKE,
    WITHIN,
)  # fmt: skip
from ironlaw.registry.publications import published
from ironlaw.units import percent

LONG = Storm()  # the same for longer: what comes back later than a minute is seen to
LAYERS = 3  # of the reflection
SEEDS = range(3)


def message() -> dict[str, object]:
    return {
        "within": kit.amount(LATENCY, "s"), "share": kit.amount(100 * WITHIN, "%"), "up": kit.dress(f"{100 * PROMISED:g}%"),
        "layers": "five", "retries": "three",
    }  # fmt: skip


def lock() -> dict[str, object]:
    return {
        "per_second": f"{1 / SERVICE:g}", "spike": kit.amount(100 * SPIKE * PREMISE.share, "%"), "lasts": kit.amount(LASTS, "s"),
        "load": kit.amount(100 * PREMISE.share, "%"), "timeout": kit.amount(PREMISE.timeout, "s"), "after": kit.amount(AFTER, "s"),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act2").answer), "%")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    if option is None:
        return ""
    return kit.points(float(option.value), 100 * PREMISE.course.last)


def back(**change: object) -> kit.Markup:
    """How long after the spike's end a run with this change is back."""
    return _amount(_back(replace(LONG, **change)))  # type: ignore[arg-type]


@lru_cache(maxsize=32)
def _back(storm: Storm) -> float:
    return run_storm(storm).back_after()


def _amount(seconds: float) -> kit.Markup:
    return kit.dress("never") if math.isinf(seconds) else kit.amount(seconds, "s")


def _range(seconds: list[float]) -> kit.Markup:
    """What several draws took."""
    low, high = min(seconds), max(seconds)
    return _amount(high) if low == high else kit.dress(f"{low:g}–{high:g} s")


def reveal() -> dict[str, object]:
    budgeted = [_back(replace(LONG, budget=0.1, seed=seed)) for seed in SEEDS]
    plain = [_back(replace(LONG, retries=0, until=90.0, seed=seed)) for seed in SEEDS]
    return {
        "sent": kit.amount(100 * PREMISE.late_load, "%"), "attempts": f"{PREMISE.amplified:.0f}",
        "load": kit.amount(100 * PREMISE.share, "%"),
        "last": kit.amount(100 * PREMISE.course.last, "%"), "none": _range(plain), "budget": _range(budgeted),
        "limit": back(limit=40, until=60.0),
        "newest": back(order=NEWEST, until=60.0), "harmless": kit.amount(100 * largest_retries(PREMISE.share), "%"),
        "budgeted": kit.amount(100 * replace(PREMISE, budget=0.1).late_load, "%"), "timeout": kit.amount(PREMISE.timeout, "s"),
        "share": kit.amount(100 / PREMISE.amplified, "%"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    return {
        "retries": "three", "layers": "three", "all": f"{attempts(1.0, 3, LAYERS):.0f}", "one": f"{attempts(1.0, 3):.0f}",
        "sum": f"{LAYERS * attempts(1.0, 3):.0f}", "without": f"{3**LAYERS}",
    }  # fmt: skip


def peek() -> dict[str, object]:
    table, plain, pooled = published("tail_at_scale"), Layers(5, 0.5, SERVICE), Layers(5, 0.5, SERVICE, servers=4)
    return {
        "half": f"{attempts(0.5, 3):g}", "all": f"{attempts(1.0, 3, LAYERS):.0f}", "series": _nines(in_series([0.999] * 5)),
        "two": _nines(replicated(0.999, 2)), "common": _nines(replicated(0.999, 2, common=0.1)), "share": kit.amount(10, "%"),
        "before": kit.amount(table.value("latency", case="BigTable", percentile=99.9), "s"),
        "after": kit.amount(table.value("latency", case="BigTable hedged", percentile=99.9), "s"),
        "extra": kit.amount(table.value("extra", case="BigTable hedged", percentile=99.9), "%"),
        "latency": kit.amount(plain.quantile(WITHIN), "s"), "pooled": kit.amount(pooled.quantile(WITHIN), "s"),
        "shared": kit.amount(replace(pooled, dependence=0.1).quantile(WITHIN), "s"), "servers": "four",
        "most": kit.amount(100 * WITHIN, "%"),
        "busy": kit.amount(100 * plain.load, "%"), "one": _nines(0.999),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {"attempts": f"{attempts(1.0, 3, LAYERS):.0f}"}


def _nines(share: float) -> kit.Markup:
    return kit.dress(percent(share, 6))
