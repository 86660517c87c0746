"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.cluster.failures import Level, two_level, young
from ironlaw.engine.cluster.spares import waiting
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import NEIGHBOUR, PER_PARAMETER, Plan, premise
from ironlaw.labs.lab_v2_07_checkpoint.clusters import HOUR, RUN, llama
from ironlaw.registry.runs import about
from ironlaw.units import percent

NAMES = {"writing": "saving", "lost": "lost work", "restart": "detecting and restarting", "storage": "the file system"}
SURVIVE = 0.9  # of failures, of the reflection
AWAY, FEW, MANY = 24 * HOUR, 48, 80  # seconds that a host is away, and spare hosts, in the maths


def _about(plan: Plan) -> dict[str, object]:
    return {
        "gpus": f"{plan.gpus:,}", "state": kit.amount(plan.state, "B"), "storage": kit.amount(plan.storage, "B/s"),
        "restart": kit.amount(plan.detect + plan.restart, "s"), "unit": kit.dress(f"{plan.unit / HOUR:,.0f} h"),
        "pause": kit.amount(plan.pause, "s"),
    }  # fmt: skip


def message() -> dict[str, object]:
    rates = about(RUN)["storage"]
    return {
        "gpus": f"{premise().gpus:,}", "before": f"{llama().gpus:,}", "bytes": f"{PER_PARAMETER:g}",
        "billions": f"{llama().parameters / 1e9:.0f} billion", "sustained": kit.amount(rates["sustained"], "B/s"),
        "peak": kit.amount(rates["peak"], "B/s"),
    }  # fmt: skip


def lock() -> dict[str, object]:
    return _about(premise())


def sealed(lab: kit.Lab) -> kit.Estimate:
    return kit.Estimate(lab.fill("act2.estimate"), "%", 0, 100, 1)


def truth(lab: kit.Lab) -> str:
    return NAMES[str(lab.question("act2").answer)]


def distance(lab: kit.Lab) -> str:
    option, parts = lab.choice("act2"), premise().shares
    if option is None or lab.correct("act2"):
        return "right" if option else ""
    if option.value == "storage":
        return f"off, because it is busy for only {percent(premise().drain / premise().far_every)} of the time"
    return f"off, because that takes only {percent(float(getattr(parts, str(option.value))))} of the time"


def reveal(lab: kit.Lab) -> dict[str, object]:
    plan = premise()
    estimate = lab.sealed("act2", "estimate")
    quick = replace(plan, detect=plan.detect / 5, restart=plan.restart / 5).at_best
    free = math.exp(-(plan.detect + plan.restart) / plan.between)  # nothing to write and nothing to read back: restarts alone
    near = replace(plan, near=NEIGHBOUR).at_best
    return {
        "between": kit.amount(plan.between, "s"), "every": kit.amount(plan.far_every, "s"), "save": kit.amount(plan.levels[1].save, "s"),
        "goodput": kit.amount(100 * plan.goodput, "%"), "writing": kit.amount(100 * float(plan.shares.writing), "%"),
        "lost": kit.amount(100 * float(plan.shares.lost), "%"), "again": kit.amount(100 * float(plan.shares.restart), "%"),
        "restart": kit.amount(plan.detect + plan.restart, "s"), "quick": kit.amount(100 * quick.goodput, "%"),
        "quick_s": kit.amount(quick.detect + quick.restart, "s"), "free": kit.amount(100 * free, "%"),
        "used": kit.amount(100 * plan.drain / plan.far_every, "%"), "near": kit.amount(100 * near.goodput, "%"),
        "estimate": f" You said {estimate:g}% would be." if estimate is not None else "",
    }  # fmt: skip


def reflection() -> dict[str, object]:
    plan = premise()
    near, far = Level(1.0, plan.levels[1].restart), plan.levels[1]
    often, seldom, _ = two_level(near, far, SURVIVE, plan.between)
    alone = float(young(far.save, plan.between))
    return {
        "survive": kit.amount(100 * SURVIVE, "%", 2), "rest": kit.amount(100 * (1 - SURVIVE), "%", 2), "alone": kit.amount(alone, "s"),
        "seldom": kit.amount(seldom, "s"), "ratio": kit.times(seldom / alone), "fewer": kit.times(1 / (1 - SURVIVE), 2),
        "often": kit.amount(often, "s"), "far_between": kit.amount(plan.between / (1 - SURVIVE), "s"),
    }  # fmt: skip


def peek(lab: kit.Lab) -> dict[str, object]:
    plan = premise()
    found = reflection()
    return {
        "between": kit.amount(plan.between, "s"), "restart": kit.amount(plan.detect + plan.restart + plan.drain, "s"),
        "share": kit.amount(100 * float(plan.shares.restart), "%"), "survive": found["survive"],
        "often": found["often"], "seldom": found["seldom"], "away": kit.amount(AWAY, "s"), "few": FEW, "many": MANY,
        "few_waits": kit.amount(100 * waiting(FEW, plan.between, AWAY), "%"),
        "many_waits": kit.amount(100 * waiting(MANY, plan.between, AWAY), "%"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    plan = premise()
    return {"again": kit.amount(100 * float(plan.shares.restart), "%", 2), "writing": kit.amount(100 * float(plan.shares.writing), "%", 2)}
