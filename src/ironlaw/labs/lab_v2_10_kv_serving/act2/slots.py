"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.labs.lab_v2_10_kv_serving.act2.instrument import ratios
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE, STORY_BUDGET, premise
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.served_cases import ServedCase

SHARE = PROMISE.share
# What ten other draws of as many requests come to, between which: the test of this lab runs some of them anew.
OTHER_DRAWS = {"first token": (1.3, 1.7), "between tokens": (9.0, 12.2)}  # times as long, and times shorter


def _about() -> dict[str, object]:
    case, load = premise(), trace(premise().trace)
    return {
        "model": about(case.model)["name"], "devices": case.devices, "rate": kit.amount(case.per_second, "/s"),
        "prompt": f"{load.means[0]:,.0f}", "output": f"{load.means[1]:,.0f}", "budget": STORY_BUDGET,
        "ttft": kit.amount(PROMISE.ttft, "s"), "tbt": kit.amount(PROMISE.tbt, "s"), "machine": registered(case.machine).name,
        "whole_budget": f"{case.policy.budget:,}", "requests": f"{len(case.requests):,}",
    }  # fmt: skip


def message() -> dict[str, object]:
    about = _about()
    return {name: about[name] for name in ("model", "devices", "rate", "prompt", "output", "ttft", "tbt", "budget")}


def lock() -> dict[str, object]:
    about = _about()
    names = ("model", "devices", "machine", "rate", "requests", "budget", "whole_budget")
    return {name: about[name] for name in names}


def sealed(lab: kit.Lab) -> kit.Estimate:
    return kit.Estimate(lab.fill("act2.estimate", budget=STORY_BUDGET), "%", 0, 100, 1)


def truth(lab: kit.Lab) -> str:
    return f"{kit.times(float(lab.question('act2').answer), 2)} as long"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer))) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    whole, pieces, estimate = premise().outcome, premise(True).outcome, lab.sealed("act2", "estimate")
    smaller = replace(premise(True), policy=Policy(budget=256)).outcome
    low, high = OTHER_DRAWS["first token"]
    least, most = OTHER_DRAWS["between tokens"]
    return {
        **_both(), "estimate": f", and you said {estimate:g}%" if estimate is not None else "",
        "left": kit.amount(100 * ratios()["between tokens"], "%", 1), "median": kit.amount(whole.tbt(0.5), "s", 2),
        "median_pieces": kit.amount(pieces.tbt(0.5), "s", 2), "small_ttft": kit.amount(smaller.ttft(SHARE), "s", 2),
        "small_tbt": kit.amount(smaller.tbt(SHARE), "s", 2), "budget": STORY_BUDGET, "small": 256, "low": kit.times(low, 2),
        "high": kit.times(high, 2), "least": kit.times(least, 2), "most": kit.times(most, 2),
    }  # fmt: skip


def _both() -> dict[str, object]:
    whole, pieces = premise().outcome, premise(True).outcome
    return {
        "tbt_whole": kit.amount(whole.tbt(SHARE), "s", 2), "tbt_pieces": kit.amount(pieces.tbt(SHARE), "s", 2),
        "ttft_whole": kit.amount(whole.ttft(SHARE), "s", 2), "ttft_pieces": kit.amount(pieces.ttft(SHARE), "s", 2),
        "ratio": kit.times(ratios()["first token"], 2), "fall": kit.times(1 / ratios()["between tokens"], 2),
    }  # fmt: skip


def doubled(**changes: object) -> ServedCase:
    """Twice the requests, and one thing changed."""
    return replace(premise(True), rate=2.0, **changes)  # type: ignore[arg-type]


def reflection() -> dict[str, object]:
    as_is, two, wide = doubled(), doubled(replicas=2), doubled(devices=8)
    narrow, small = doubled(cache="fp8"), doubled(policy=Policy(budget=256))
    return {
        "rate": kit.amount(as_is.per_second, "/s"), "as_is": kit.amount(as_is.outcome.ttft(SHARE), "s", 2),
        "two": kit.amount(two.outcome.ttft(SHARE), "s", 2), "two_tbt": kit.amount(two.outcome.tbt(SHARE), "s", 2),
        "wide": kit.amount(wide.outcome.ttft(SHARE), "s", 2), "narrow": kit.amount(narrow.outcome.ttft(SHARE), "s", 2),
        "small": kit.amount(small.outcome.ttft(SHARE), "s", 2), "full": kit.amount(100 * as_is.outcome.peak, "%", 2),
        "limit": kit.amount(PROMISE.ttft, "s"), "tbt_limit": kit.amount(PROMISE.tbt, "s"), "devices": 2 * as_is.devices,
        "small_tbt": kit.amount(small.outcome.tbt(SHARE), "s", 2),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = premise(True)
    out = case.outcome
    return {
        "rate": kit.amount(out.rate, "/s"), "time": kit.amount(out.mean_time, "s"), "inside": kit.amount(out.rate * out.mean_time, ""),
        "counted": kit.amount(out.in_system, ""), "budget": STORY_BUDGET, "batch": kit.amount(out.batch, ""),
        "tokens": kit.amount(out.tokens_per_s, "/s"), "devices": case.devices, "cost": kit.amount(case.device_seconds, "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {"fall": kit.times(1 / ratios()["between tokens"], 2), "ratio": kit.times(ratios()["first token"], 2)}
