"""Act II: a server, its load and its rules to what requests get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_10_kv_serving.act2 import figures, verdict
from ironlaw.labs.lab_v2_10_kv_serving.act2.said import P99, inside, mean_time
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import (
    CHUNKED,
    MOST,
    PROMISE,
    WINDOW,
    Setting,
    groups,
    premise,
    usual_group,
)
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import machine_of
from ironlaw.systems.serving.served_cases import ServedCase
from ironlaw.units import show_between
from ironlaw.widget.figure import tabbed

CLAIMS = ("tokens_as_predicted_for_few", "first_tokens_as_predicted", "floods_as_predicted")
FOLLOWS = ("rate", "budget", "devices", "replicas")
MORE = ("trace", "scheduling", "most", "model", "weights", "cache", "block", "preemption", "share")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        machine = machine_of(lab)
        static = values.get("scheduling") == "static"
        pieces = values.get("prompts") == CHUNKED and not static
        budget = int(values.get("budget") or Setting.budget)
        barred = {size: "more than the tokens per step" for size in MOST if pieces and size > budget}
        return [
            *settings.dials(
                Setting, prompts={"hidden": static}, budget={"hidden": static}, most={"disabled": barred},
                devices={"value": usual_group(machine), "disabled": groups(machine)},
            ),
            kit.span("at", "Moment", 0, WINDOW, 12, step=0.5, unit="s", play=8, shows="over-time"),
        ]  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = settings.read(Setting, values, machine=machine_of(lab), moving=bool(values.get("moving"))).case
    answer = [tabbed(figures.pieces(lab, case, premise().outcome, premise(True).outcome), "Chunks or whole")]
    shown: dict[str, Any] = {
        "banner": settings.verdict(lab, "act2", verdict.LIMITS, case), "note": kit.html(notes(lab, case)),
    }  # fmt: skip
    if case.rig is None:
        return kit.View(figures=answer, cards=[], readouts=readouts(case), **shown)
    at = float(values["at"])
    return kit.View(
        figures=[*answer, tabbed(figures.over_time(case, at), "Over time"), tabbed(figures.times(case), "How long")],
        cards=cards(case),
        formula=formula(case),
        readouts=readouts(case),
        **shown,
    )  # fmt: skip


def ratios() -> dict[str, float]:
    """The question's: P99 with chunked prefill over P99 with whole ones."""
    pieces, whole = premise(True).outcome, premise().outcome
    share = PROMISE.share
    return {"between tokens": pieces.tbt(share) / whole.tbt(share), "first token": pieces.ttft(share) / whole.ttft(share)}


def cards(case: ServedCase) -> list[dict[str, Any]]:
    out = case.outcome
    late, stutters = out.ttft(PROMISE.share) > PROMISE.ttft, out.tbt(PROMISE.share) > PROMISE.tbt
    return [
        kit.simulated_card("First token, P99", *P99["first token"](out), "s", tone="bad" if late else "good", note="simulated"),
        kit.simulated_card("Between tokens, P99", *P99["between tokens"](out), "s", tone="bad" if stutters else "good", note="simulated"),
        kit.card("Throughput", case.tokens_per_s, "/s", note="new tokens, all replicas"),
        kit.card("Cost per million tokens", case.device_seconds, "s", note="of device time"),
        kit.card("Cache in use, on average", 100 * out.cache_use, "%", digits=1, note=f"{out.preempted:,} evictions"),
    ]


def formula(case: ServedCase) -> str:
    """Little's law, with the time that the run had."""
    out, rate = case.outcome, case.per_second
    little = line("<i>rate</i> × <i>time inside</i> =", kit.amount(rate, "/s"), "×", mean_time(out), "=",
                  inside(out, rate), "requests inside, on average")  # fmt: skip
    share = fraction(f"{case.devices * case.replicas} × 10<sup>6</sup>", kit.amount(case.tokens_per_s, "/s"))
    cost = line("device time for a million tokens =", share, "=", kit.amount(case.device_seconds, "s"))
    return little + cost


def notes(lab: kit.Lab, case: ServedCase) -> str:
    texts = [lab.fill("act2.own_machine")] if lab.current_context.slug == LOCAL else []
    if case.rig is not None:
        texts.append(lab.fill("act2.calibrated" if case.rig.basis == "calibrated" else "act2.transferred"))
        rate, warm = kit.amount(case.per_second, "per second"), f"{case.outcome.warm:,}"
        texts.append(lab.fill("act2.requests", requests=f"{len(case.requests):,}", rate=rate, warm=warm))
    return "\n\n".join(texts)


def readouts(case: ServedCase) -> dict[str, Any]:
    out, policy = case.outcome if case.rig else None, case.policy

    def said(time: str) -> str:
        seconds, between = P99[time](out) if out else (0.0, (0.0, 0.0))
        return show_between(seconds, *between, "s")

    return {
        **settings.values(case, "model", "machine", "devices", "replicas"),
        **settings.values(policy, "most", "budget", "chunked", "scheduling", "preemption"), "rate": round(case.per_second, 4),
        "ttft_p99_s": out.ttft(PROMISE.share) if out else None, "tbt_p99_s": out.tbt(PROMISE.share) if out else None,
        "tokens_per_s": case.tokens_per_s if out else None, "device_s_per_million": case.device_seconds if out else None,
        "ttft_said": said("first token"), "tbt_said": said("between tokens"),
        "preempted": out.preempted / len(out.requests) if out else None, "constraint_hit": settings.broken(verdict.LIMITS, case),
    }  # fmt: skip
