"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.queues import erlang_c, mm1, mmc
from ironlaw.labs.lab_13_line.act2.figures import AGAIN, NOW
from ironlaw.labs.lab_13_line.act2.instrument import premise
from ironlaw.labs.lab_13_line.act2.server import FIXED, ONE
from ironlaw.units import significant

SERVERS, LOAD = 8, 0.9  # of the reflection


def message() -> dict[str, object]:
    return {"now": significant(NOW), "again": significant(AGAIN), "busy": kit.amount(100.0, "%")}


def lock() -> dict[str, object]:
    return {"now": significant(NOW), "again": significant(AGAIN), "most": premise().most}


def truth(lab: kit.Lab) -> str:
    return kit.times(float(lab.question("act2").answer), 2)


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    simulated = float(significant(float(lab.question("act2").answer), 2))  # other seeds agree to two digits
    return kit.off(kit.Distance(float(option.value), simulated)) if option else ""


def reveal() -> dict[str, object]:
    case = premise()
    now, again = (replace(case, rate=rate) for rate in (NOW, AGAIN))
    alone = replace(case, policy=ONE)
    return {
        "p99_now": kit.amount(now.outcome.p99, "s", 2), "p99_again": kit.amount(again.outcome.p99, "s", 2),
        "pass_s": kit.amount(case.full, "s"), "busy": kit.amount(100 * now.outcome.busy, "%", 2),
        "load": kit.amount(100 * now.load, "%", 2), "now": significant(NOW),
        "again": significant(AGAIN), "load_again": kit.amount(100 * again.load, "%", 2), "one": significant(alone.capacity),
        "capacity": significant(case.capacity), "batch": significant(now.outcome.batch, 2),
        "batch_again": significant(again.outcome.batch, 2),
        "most": case.most, "held": kit.amount(replace(now, policy=FIXED).outcome.p99, "s", 2),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    split, pooled = mm1(LOAD, 1.0), mmc(SERVERS * LOAD, 1.0, SERVERS)
    return {
        "servers": SERVERS, "load": kit.amount(100 * LOAD, "%"), "split": significant(split.quantile(0.99)),
        "pooled": significant(pooled.quantile(0.99)), "late": kit.amount(100 * erlang_c(SERVERS, SERVERS * LOAD), "%"),
        "alone": significant(mmc(1e-6, 1.0, SERVERS).quantile(0.99)), "eighth": significant(split.quantile(0.99) / SERVERS),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = premise()
    return {
        "pass_s": kit.amount(case.full, "s"), "most": case.most, "capacity": significant(case.capacity), "rate": significant(case.rate),
        "load": kit.amount(100 * case.load, "%"), "mean": kit.amount(1.5 * case.full, "s"), "p99": kit.amount(1.99 * case.full, "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    case = replace(premise(), rate=NOW)
    split, pooled = mm1(LOAD, 1.0), mmc(SERVERS * LOAD, 1.0, SERVERS)
    return {
        "servers": SERVERS, "cut": significant(split.quantile(0.99) / pooled.quantile(0.99), 2),
        "busy": kit.amount(100 * case.outcome.busy, "%", 2), "load": kit.amount(100 * case.load, "%", 2),
    }  # fmt: skip
