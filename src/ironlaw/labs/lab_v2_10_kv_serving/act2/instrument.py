"""Act II: a server, its load and its rules to what requests get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_10_kv_serving.act1.memory import BLOCKS, CACHES, WEIGHTS
from ironlaw.labs.lab_v2_10_kv_serving.act2 import figures, verdict
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import (
    BUDGETS,
    CHUNKED,
    GROUPS,
    LAB_08,
    LAB_13,
    MODELS,
    MOST,
    PROMISE,
    TRACES,
    WHOLE,
    WINDOW,
    case_of,
    groups,
    premise,
    starts,
    usual_group,
)
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import machine_of
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.served_cases import ServedCase
from ironlaw.widget.figure import tabbed

CLAIMS = (
    "continuous_batching_2_to_4", "pieces_cost_the_first_token_little", "tokens_as_predicted_for_few", "first_tokens_as_predicted",
    "floods_as_predicted",
)  # fmt: skip
FOLLOWS = ("rate", "budget", "devices", "replicas")
PROMPTS = {WHOLE: "whole, decoding waits", CHUNKED: "in pieces, beside decoding"}
RATES = (0.1, 0.2, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10, 20)


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        machine, begin = machine_of(lab), starts(lab)
        static = values.get("scheduling") == "static"
        pieces = values.get("prompts") == CHUNKED and not static
        paged = [(size, words) for size, words in BLOCKS.items() if size]
        every = [
            kit.span("at", "Moment", 0, WINDOW, 12, step=0.5, unit="s", play=8),
            kit.span("rate", "Requests, times the trace's rate", RATES[0], RATES[-1], 1, log=True, unit="×", steps=list(RATES)),
            kit.select("trace", "Requests like", list(TRACES.items())),
            kit.choice("prompts", "Prompts go in", list(PROMPTS.items()), hidden=static),
            kit.select("budget", "Tokens a step, at most", [(size, f"{size:,}") for size in BUDGETS], 2048, hidden=static),
            kit.choice("scheduling", "Requests join", [("continuous", "a running batch"), ("static", "only a new batch")]),
            kit.select("most", "Sequences at once, at most", [(size, str(size)) for size in MOST], begin.get("most", 256),
                       {size: "more than the tokens of a step" for size in MOST if pieces and size > int(values.get("budget") or 2048)}),
            kit.select("model", "Model", [(name, about(name)["name"]) for name in MODELS], begin.get("model", MODELS[0])),
            kit.choice("devices", "Devices a replica", [(size, str(size)) for size in GROUPS], usual_group(machine), groups(machine)),
            kit.span("replicas", "Replicas", 1, 8, begin.get("replicas", 1), whole=True),
            kit.choice("weights", "Weights in", list(WEIGHTS.items())),
            kit.choice("cache", "Cache in", list(CACHES.items())),
            kit.select("block", "Cache is handed out in", paged, 16),
            kit.choice("preemption", "Who makes room", [("recompute", "computes its prompt again"), ("swap", "moves to the host")]),
            kit.span("share", "Memory the engine may take", 50, 95, 90, step=5, unit="%"),
        ]  # fmt: skip
        shows = {"at": "cache", "rate": "over-time", "prompts": "times", "budget": "times", "block": "cache", "share": "cache"}
        return [{**dial, "shows": shows[dial["id"]]} if dial["id"] in shows else dial for dial in every]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(machine_of(lab), values)
    own = figures.said(lab, ratios())
    answer = [tabbed(own, "Your answer")] if own else []
    shown: dict[str, Any] = {"banner": verdict.banner(lab, case, bool(values.get("moving"))), "note": kit.html(notes(lab, case))}
    if case.rig is None:
        return kit.View(figures=answer, cards=[], readouts=readouts(case), **shown)
    at = float(values["at"])
    return kit.View(
        figures=[
            tabbed(figures.cache(case, at), "The cache"), tabbed(figures.over_time(case, at), "Over time"),
            tabbed(figures.times(case), "How long"), tabbed(figures.frontier(case), "Frontier"), *answer,
        ],
        cards=cards(case),
        formula=formula(case),
        readouts=readouts(case),
        **shown,
    )  # fmt: skip


def ratios() -> dict[str, float]:
    """The question's: P99 with prompts in pieces over P99 with whole ones."""
    pieces, whole = premise(True).outcome, premise().outcome
    share = PROMISE.share
    return {"between tokens": pieces.tbt(share) / whole.tbt(share), "first token": pieces.ttft(share) / whole.ttft(share)}


def cards(case: ServedCase) -> list[dict[str, Any]]:
    out = case.outcome
    late, stutters = out.ttft(PROMISE.share) > PROMISE.ttft, out.tbt(PROMISE.share) > PROMISE.tbt
    return [
        kit.card("First token, P99", out.ttft(PROMISE.share), "s", tone="bad" if late else "good"),
        kit.card("Between tokens, P99", out.tbt(PROMISE.share), "s", tone="bad" if stutters else "good"),
        kit.card("Tokens", out.tokens_per_s, "/s", note="new ones, all replicas"),
        kit.card("A million tokens", case.device_seconds, "s", note="of one device's time"),
        kit.card("Fullest cache", 100 * out.peak, "%", note=f"{out.preempted} had to make room"),
    ]


def formula(case: ServedCase) -> str:
    """Little's law over the run."""
    out = case.outcome
    inside = line("<i>rate</i> × <i>time inside</i> =", kit.amount(out.rate, "/s"), "×", kit.amount(out.mean_time, "s"), "=",
                  kit.amount(out.rate * out.mean_time, ""), "requests inside, on average")  # fmt: skip
    share = fraction(f"{case.devices * case.replicas} × 10<sup>6</sup>", kit.amount(out.tokens_per_s, "/s"))
    cost = line("devices × seconds a million tokens =", share, "=", kit.amount(case.device_seconds, "s"))
    return inside + cost


def notes(lab: kit.Lab, case: ServedCase) -> str:
    texts = [lab.fill("act2.own_machine")] if lab.current_context.slug == LOCAL else []
    begin = starts(lab)
    if begin:
        named = [
            words
            for name, words in (("model", "the model of Lab 08"), ("most", "the batch of Lab 13"), ("replicas", "its replicas"))
            if name in begin
        ]
        texts.append(lab.fill("act2.carried", what=", ".join(named)))
    elif lab.ledger.design(LAB_08) is None and lab.ledger.design(LAB_13) is None:
        texts.append(lab.fill("act2.not_carried"))
    if case.rig is not None:
        texts.append(lab.fill("act2.calibrated" if case.rig.table.basis == "calibrated" else "act2.transferred"))
    texts.append(lab.fill("act2.requests", requests=len(case.requests), rate=kit.amount(case.per_second, "/s")))
    return "\n\n".join(texts)


def readouts(case: ServedCase) -> dict[str, Any]:
    hit, out = verdict.state(case), case.outcome if case.rig else None
    policy = case.policy
    return {
        "model": case.model, "machine": case.machine, "devices": case.devices, "replicas": case.replicas, "rate": round(case.per_second, 4),
        "most": policy.most, "budget": policy.budget, "chunked": policy.chunked, "scheduling": policy.scheduling,
        "preemption": policy.preemption, "ttft_p99_s": out.ttft(PROMISE.share) if out else None,
        "tbt_p99_s": out.tbt(PROMISE.share) if out else None, "tokens_per_s": out.tokens_per_s if out else None,
        "device_s_per_million": case.device_seconds if out else None,
        "preempted": out.preempted / len(out.requests) if out else None, "constraint_hit": None if hit == verdict.KEPT else hit,
    }  # fmt: skip
