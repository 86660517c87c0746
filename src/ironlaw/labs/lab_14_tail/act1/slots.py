"""Act I's words: the truth, the distance, and the slots of every section, for the question's own server."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.load_testers import open_loop
from ironlaw.engine.serving.samples import least_count, order_interval
from ironlaw.engine.serving.tails import exponential_tail, merged_quantile, quantile
from ironlaw.labs.lab_14_tail.act1.case import Case, tene

SMALL = 200  # requests of the reflection
SHORT, LONG = 0.010, 0.100  # means of two streams, in seconds


def _s(value: float, digits: int = 3) -> str:
    return kit.amount(value, "s", digits)


def message() -> dict[str, object]:
    return {"tester": _s(Case().tester.quantile(0.99))}


def lock() -> dict[str, object]:
    case = Case()
    return {
        "service": _s(case.service), "stall": _s(case.stall), "period": _s(case.period), "rate": f"{case.rate:,.0f}",
        "tester": _s(case.tester.quantile(0.99)),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return _s(float(lab.question("act1").answer))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal() -> dict[str, object]:
    case, frozen = Case(), tene()
    in_a_second = case.rate * case.stall
    return {
        "period": _s(case.period), "in_a_period": f"{case.rate * case.period:,.0f}", "hit": f"{in_a_second:,.0f}",
        "share": kit.dress(kit.share(case.users.share_above(2 * case.service + 1e-9), 1.0)),
        "p90": _s(case.users.quantile(0.9)), "p99": _s(case.users.quantile(0.99)), "p50": _s(case.users.quantile(0.5)),
        "closed_high": _s(frozen.tester.quantile(0.999)), "open_high": _s(frozen.users.quantile(0.9)), "frozen": _s(frozen.stall),
        "connections": "64", "many": _s(replace(case, connections=64).tester.quantile(0.99)),
        "mean": _s(case.users.mean), "tester_mean": _s(case.tester.mean),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    low, _ = order_interval(SMALL, 0.99)
    return {
        "n": f"{SMALL}", "low": f"{low}", "confidence": kit.amount(95, "%"),
        "rank": f"{round(0.99 * SMALL)}", "two_sided": f"{_two_sided()}",
        "one_sided": f"{least_count(0.99)}", "chance": kit.dress(kit.share(0.99**SMALL, 1.0)),
    }  # fmt: skip


def _two_sided() -> int:
    """The fewest requests with which P99 has both ends."""
    return least_count(0.99, 0.975)


def peek() -> dict[str, object]:
    low, high = order_interval(1000, 0.99)
    short, long = exponential_tail(SHORT), exponential_tail(LONG)
    each = quantile(short, 0.99), quantile(long, 0.99)
    frozen = tene()
    at_once = open_loop(frozen.rate, frozen.service, frozen.stalls, frozen.n, together=True)
    polite = replace(frozen, n=round(frozen.n / 2) + 1).polite  # all that the tester sends in the same time
    return {
        "low": f"{low}", "high": f"{high}", "n": "1,000", "p99": f"{least_count(0.99):,}", "p999": f"{least_count(0.999):,}",
        "p9999": f"{least_count(0.9999):,}", "short": _s(SHORT), "long": _s(LONG), "short_p99": _s(each[0]), "long_p99": _s(each[1]),
        "average": _s(sum(each) / 2), "merged": _s(merged_quantile([(1, short), (1, long)], 0.99)),
        "frozen": _s(frozen.stall), "closed_mean": _s(polite.mean), "open_mean": _s(frozen.users.mean),
        "open_p75": _s(frozen.users.quantile(0.75)), "once_mean": _s(at_once.mean), "once_p75": _s(at_once.quantile(0.75)),
        "left_over": kit.amount(5, "%"), "left": kit.dress(kit.share(0.99 ** least_count(0.99), 1.0)),
    }  # fmt: skip
