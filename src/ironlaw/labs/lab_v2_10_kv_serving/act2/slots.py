"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.labs.lab_v2_10_kv_serving.act2.instrument import ratios
from ironlaw.labs.lab_v2_10_kv_serving.act2.said import OTHER_DRAWS, inside, mean_time, p99
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE, STORY_BUDGET, premise
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.served_cases import ServedCase


def _about() -> dict[str, object]:
    case, load = premise(), trace(premise().trace)
    return {
        "model": about(case.model)["name"], "devices": case.devices, "rate": kit.amount(case.per_second, "requests per second"),
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
    return f"{_ratios()['ratio']} as long"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    if option is None or lab.correct("act2"):
        return "right, as far as a simulation can tell" if option else ""
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer)))


def reveal(lab: kit.Lab) -> dict[str, object]:
    whole, pieces, estimate = premise().outcome, premise(True).outcome, lab.sealed("act2", "estimate")
    smaller = replace(premise(True), policy=Policy(budget=256)).outcome
    return {
        **_both(), "estimate": f", and you said {estimate:g}%" if estimate is not None else "",
        "left": kit.amount(100 * ratios()["between tokens"], "%", 1), "median": kit.amount(whole.tbt(0.5), "s", 2),
        "median_pieces": kit.amount(pieces.tbt(0.5), "s", 2),
        "small_tbt": p99(smaller, "between tokens"), "budget": STORY_BUDGET, "small": 256,
    }  # fmt: skip


def _ratios() -> dict[str, object]:
    """The ratios of both servers with the same requests."""
    first, gap = ratios()["first token"], 1 / ratios()["between tokens"]
    return {"ratio": kit.simulated(first, OTHER_DRAWS["first token"], "×"), "fall": kit.simulated(gap, OTHER_DRAWS["between tokens"], "×")}


def _both() -> dict[str, object]:
    whole, pieces = premise().outcome, premise(True).outcome
    return {
        "tbt_whole": p99(whole, "between tokens"), "tbt_pieces": p99(pieces, "between tokens"),
        "ttft_whole": p99(whole, "first token"), "ttft_pieces": p99(pieces, "first token"), **_ratios(),
    }  # fmt: skip


def doubled(**changes: object) -> ServedCase:
    """Twice the requests, and one thing changed."""
    return replace(premise(True), rate=2.0, **changes)  # type: ignore[arg-type]


def reflection() -> dict[str, object]:
    as_is, two, wide = doubled(), doubled(replicas=2), doubled(devices=8)
    narrow, small = doubled(cache="fp8"), doubled(policy=Policy(budget=256))
    first, gaps = "first token", "between tokens"
    return {
        "rate": kit.amount(as_is.per_second, "requests per second"), "as_is": p99(as_is.outcome, first), "two": p99(two.outcome, first),
        "two_tbt": p99(two.outcome, gaps), "wide": p99(wide.outcome, first), "narrow": p99(narrow.outcome, first),
        "small": p99(small.outcome, first), "full": kit.amount(100 * as_is.outcome.peak, "%", 2),
        "limit": kit.amount(PROMISE.ttft, "s"), "tbt_limit": kit.amount(PROMISE.tbt, "s"), "devices": 2 * as_is.devices,
        "small_tbt": p99(small.outcome, gaps),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = premise(True)
    out = case.outcome
    return {
        "rate": kit.amount(case.per_second, "requests per second"), "time": mean_time(out), "inside": inside(out, case.per_second),
        "counted": kit.amount(out.in_system, "", 1), "budget": STORY_BUDGET, "batch": kit.amount(out.batch, "", 1),
        "tokens": kit.amount(case.tokens_per_s, "tokens per second"), "devices": case.devices, "cost": kit.amount(case.device_seconds, "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return _ratios()
