"""A run's figures with the digits that it is sure of: they are simulated, and another draw of requests has others."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.run_spread import Between
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE

SHARE = PROMISE.share
# What ten other draws of as many requests come to, between which: the test of this lab runs some of them anew.
OTHER_DRAWS = {"first token": (1.2, 1.7), "between tokens": (9.0, 12.2)}  # times as long, and times shorter
P99: dict[str, Callable[[Outcome], tuple[float, Between]]] = {
    "first token": lambda out: (out.ttft(SHARE), out.ttft_between(SHARE)),
    "between tokens": lambda out: (out.tbt(SHARE), out.tbt_between(SHARE)),
}


def p99(out: Outcome, time: str) -> kit.Markup:
    """`time`: of P99."""
    return kit.simulated(*P99[time](out), "s")


def mean_time(out: Outcome) -> kit.Markup:
    return kit.simulated(out.mean_time, out.mean_time_between, "s")


def inside(out: Outcome, rate: float) -> kit.Markup:
    """Requests inside on average: Little's law."""
    low, high = out.mean_time_between
    return kit.simulated(rate * out.mean_time, (rate * low, rate * high))
