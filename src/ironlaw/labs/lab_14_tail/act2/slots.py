"""Act II's words: the truth, the distance, and the slots of every section, for the question's own fleet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ironlaw import kit
from ironlaw.engine.serving.hedging import largest_budget
from ironlaw.engine.serving.queues import mm1
from ironlaw.engine.serving.samples import least_count
from ironlaw.engine.serving.tails import at_least_one, exponential_tail, fan_out_quantile, hedged, quantile
from ironlaw.labs.lab_14_tail.act2.fleet import ALL, BUDGET, Fleet
from ironlaw.registry.publications import published
from ironlaw.units import significant

CALM = 0.4  # a utilisation at which copies without a limit are safe


def _s(value: float) -> str:
    return kit.amount(value, "s")


def _percent(share: float) -> str:
    return kit.amount(100 * share, "%")


@lru_cache(maxsize=1)
def asked() -> Fleet:
    return replace(Fleet(), hedge=ALL, n=10_000)


def message() -> dict[str, object]:
    return {"k": f"{Fleet().k}"}


def lock() -> dict[str, object]:
    case = asked()
    return {"rho": _percent(case.rho), "quantile": f"P{100 * case.quantile:g}", "extra": _percent(1 - case.quantile)}


def truth(lab: kit.Lab) -> str:
    return kit.inline(lab.question("act2").right.label)


def distance(lab: kit.Lab) -> str:
    worst = f"all requests sent twice are {_percent(2 * asked().rho)} of the shards' capacity"
    return f"right, because {worst}" if lab.holds("act2") else f"off, because {worst}"


def reveal() -> dict[str, object]:
    case = asked()
    limited = replace(case, hedge=BUDGET, n=Fleet.n)
    return {
        "rho": _percent(case.rho), "worst": _percent(2 * case.rho), "pause": _s(case.pause),
        "median": _s(mm1(case.rho, 1.0).quantile(0.5) * case.service),
        "stuck_median": kit.amount(case.paused.last_median() * case.service, "s", 1),
        "calm": _percent(CALM), "calm_worst": _percent(2 * CALM),
        "budget": _percent(case.budget), "limited_p99": _s(limited.page_p99),
        "quantile": f"P{100 * case.quantile:g}", "late": _percent(1 - case.quantile),
        "k": f"{case.k}", "slow": _percent(at_least_one(0.01, case.k)),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    p, k = 0.99, Fleet().k
    return {
        "k": f"{k}", "needed": significant(fan_out_quantile(p, k), 7), "at_p99": _percent(at_least_one(0.01, k)),
        "at_p999": _percent(at_least_one(0.001, k)), "at_p9999": _percent(at_least_one(0.0001, k)), "target": _s(0.1),
        "count": f"{least_count(fan_out_quantile(p, k)):,}",
    }  # fmt: skip


def peek() -> dict[str, object]:
    case, mean = asked(), 0.020
    tail = exponential_tail(mean)
    delay = quantile(tail, 0.95)
    board = published("tail_at_scale")
    latency = {(str(row["case"]), row["percentile"]): float(row["latency"]) for row in board.rows}
    return {
        "k": f"{case.k}", "needed": significant(fan_out_quantile(0.99, case.k), 7), "mean": _s(mean), "delay": _s(delay),
        "plain": _s(quantile(tail, 0.999)), "hedged": _s(quantile(hedged(tail, delay), 0.999)), "late": _percent(tail(delay)),
        "rho": _percent(case.rho), "held": _percent(largest_budget(case.rho)),
        "leaf": _s(latency["one leaf", 99.0]), "all": _s(latency["all leaves", 99.0]), "source": f"{board.name}, {board.date[:4]}",
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {"slow": _percent(at_least_one(0.01, Fleet().k)), "k": f"{Fleet().k}"}
