"""The rows of an answer: a choice, the frontier of decoding alone, and the run cut into slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ironlaw.engine.costs import Offer, device_hours
from ironlaw.engine.numerics.pareto_2d import Point, frontier
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.systems.serving.commands import commands
from ironlaw.systems.serving.deployments import PLAN, Deployment
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import LASTING
from ironlaw.systems.serving.search.pareto import layout_row

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import CapacityChoice, ChoicePolicy, CliffJson, EngineJson, FrontierPoint, RunSlice, SafeJson

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # of the frontier
SLICES = 12  # of a run over time


@dataclass(frozen=True)
class Found:
    """A choice with what was found out about it: how many times the asked rate it takes (None: no rate was asked), both ends of its
    figures, the deployment that does even at their slow end, and whether its devices are there for the SLO rather than the work."""

    choice: Choice
    room: float | None
    between: dict[str, Sequence[float | None]]
    safe: Choice | None
    cliff: CliffJson | None


def row(asked: Demand, found: Found, alike_s: float | None) -> CapacityChoice:
    """`alike_s`: a typical step's time on the same grounds as the other machines', where they rest on different ones."""
    choice, room, rate = found.choice, found.room, asked.about["rate"]
    rig, out, share = choice.deployment, choice.answer.outcome, asked.promise.share
    price = asked.prices.get(rig.hardware.slug)
    tokens, whole = choice.answer.tokens_per_s, choice.answer.whole
    offer = Offer(rig.hardware.slug, 1.0, tokens, float(rig.hardware.power), price.per_hour if price else None, choice.devices)
    return {
        "hardware": rig.hardware.slug, "basis": rig.basis, "devices": choice.devices, "replicas": choice.answer.replicas,
        "devices_per_replica": rig.devices, "box": rig.box.slug if rig.box else None, "layout": layout_row(rig),
        "arithmetic": rig.products or rig.dtype, "weights": rig.weights,
        "cache": rig.cache, "weight_bytes": rig.weight_bytes, "cache_bytes": rig.cache_bytes, "cache_peak": out.peak,
        "slots": rig.slots(round(asked.about["prompt"] + asked.about["output"])), "budget": choice.policy.budget,
        "most": choice.policy.most, **_policy(asked, choice), "batch": out.batch, "busy": out.busy,
        "requests": len(out.requests), "steady": _steady(asked, found),
        "preempted": round(whole * out.preempted), "reused_tokens": round(whole * out.reused),
        "ttft_s": {"p50": out.ttft(0.5), "promised": out.ttft(share)}, "tbt_s": {"p50": out.tbt(0.5), "promised": out.tbt(share)},
        "tpot_s": {"p50": out.tpot(0.5), "promised": out.tpot(share)},
        "step_s": float(rig.typical(PLAN).seconds), "step_alike_s": alike_s,
        "tokens_per_s": tokens, "goodput_per_s": whole * out.goodput(asked.promise.ttft, asked.promise.step), "binds": choice.answer.binds,
        "command": _command(asked, choice),
        "largest_rate": None if room is None else room * rate, "between": _rated(found.between, rate), "safe": _safe(asked, found.safe),
        "cliff": found.cliff,
        "device_hours_per_million_tokens": device_hours(1.0, tokens, choice.devices),
        "dollars_per_hour": price.per_hour * choice.devices if price else None, "dollars_per_million_tokens": offer.dollars,
        "joules_per_million_tokens": offer.joules,
    }  # fmt: skip


def _steady(asked: Demand, found: Found) -> bool:
    """Whether the run is over long after its first answers. Where `requests` leaves that open, it is made long enough."""
    out = found.choice.answer.outcome
    span = out.requests[-1].arrive - out.requests[0].arrive
    faster = max(1.0, found.room or 1.0) if not asked.fleet else 1.0  # a fleet's outcome is at its largest rate
    return not asked.requests or not asked.about["rate"] or span / faster >= LASTING * out.mean_time


def _command(asked: Demand, choice: Choice) -> str:
    decoders = choice.answer.replicas - choice.prompts
    return commands(
        asked.server.starts, asked.model, choice.deployment, choice.policy, asked.share_of_memory, choice.prompts, decoders,
        asked.draft or "",
    )  # fmt: skip


def _safe(asked: Demand, choice: Choice | None) -> SafeJson | None:
    if choice is None:
        return None
    rig = choice.deployment
    return {
        "devices": choice.devices, "replicas": choice.answer.replicas, "prompts": choice.prompts, "layout": layout_row(rig),
        "budget": choice.policy.budget,
        "command": _command(asked, choice),
    }  # fmt: skip


def engine_row(asked: Demand) -> EngineJson:
    """As it counts on the first machine."""
    own = asked.own_time(asked.on[0])
    return {
        "name": own.name, "step_s": own.step + asked.overhead, "request_s": own.request, "first_s": own.first, "start_s": own.start,
        "benchmark": asked.benchmark, "sources": list(own.sources),
    }  # fmt: skip


def _rated(between: dict[str, Sequence[float | None]], rate: float | None) -> dict[str, Sequence[float | None]]:
    """The largest rate in requests per second, not in times the rate that was asked for."""
    ends = between.get("largest_rate")
    return between if ends is None or rate is None else between | {"largest_rate": [None if end is None else end * rate for end in ends]}


def _policy(asked: Demand, choice: Choice) -> ChoicePolicy:
    policy, rig, guess = choice.policy, choice.deployment, choice.policy.speculation
    rate, wire = rig.way(choice.answer.replicas) if choice.prompts else (0.0, "")
    return {
        "scheduling": policy.scheduling, "prompts": "pieces" if policy.chunked and policy.scheduling == "continuous" else "whole",
        "preemption": policy.preemption, "prefix": asked.prefix or 0,
        "speculation": {
            "tokens": guess.tokens, "acceptance": guess.acceptance, "draft": rig.draft.name if rig.draft else None,
            "tokens_per_step": guess.mean,
        } if guess else None,
        "pools": {
            "prompts": choice.prompts, "decoders": choice.answer.replicas - choice.prompts, "wire": wire,
            "move_s_per_token": rig.token_bytes / rate,
        } if choice.prompts else None,
    }  # fmt: skip


def frontier_rows(asked: Demand, tables: list[Deployment]) -> list[FrontierPoint]:
    """Full batches of decoding that no other beats in both time between tokens and cost: dollars, or devices where a price is missing."""
    tokens = round(asked.about["prompt"] + asked.about["output"] / 2)
    priced = all(rig.hardware.slug in asked.prices for rig in tables)
    points: dict[Point, FrontierPoint] = {}
    for rig in tables:
        for batch in BATCHES:
            if batch > min(rig.slots(tokens), asked.most_sequences(rig.hardware)):
                break
            seconds = rig.table.seconds(batch, batch * tokens)
            each = batch / seconds / rig.devices
            hours = device_hours(1.0, each)
            dollars = hours * asked.prices[rig.hardware.slug].per_hour if priced else None
            points[Point(f"{rig.hardware.slug} {rig.layout} {batch}", seconds, hours if dollars is None else dollars)] = {
                "hardware": rig.hardware.slug, "devices_per_replica": rig.devices, "batch": batch, "tbt_s": seconds,
                "tokens_per_s_each": each, "dollars_per_million_tokens": dollars,
            }  # fmt: skip
    return [points[point] for point in frontier(points)]


def slices(outcome: Outcome, count: int = SLICES) -> list[RunSlice]:
    """The run cut into equal parts: sequences that decode, cache in use, who waits, tokens; means over time of one replica."""
    begin = outcome.requests[0].arrive
    width = outcome.span / count
    sums = [dict.fromkeys(("seconds", "batch", "used", "waiting", "prompt", "steps"), 0.0) for _ in range(count)]
    for m in outcome.moments:
        for i in range(_slice(m.at, begin, width, count), _slice(m.at + m.seconds, begin, width, count) + 1):
            inside = max(0.0, min(m.at + m.seconds, begin + (i + 1) * width) - max(m.at, begin + i * width)) if m.seconds else 0.0
            sums[i]["seconds"] += inside
            for name, value in (("batch", m.batch), ("used", m.used), ("waiting", m.waiting)):
                sums[i][name] += value * inside
            if m.seconds:
                sums[i]["prompt"] += m.prompt * inside / m.seconds
                sums[i]["steps"] += m.steps * inside / m.seconds
    each = outcome.blocks / outcome.replicas
    rows: list[RunSlice] = []
    for i, part in enumerate(sums):
        busy = part["seconds"] or 1.0
        rows.append({
            "from_s": i * width, "busy": part["seconds"] / (width * outcome.replicas), "batch": part["batch"] / busy,
            "cache": part["used"] / busy / each, "waiting": part["waiting"] / busy, "prompt_tokens_per_s": part["prompt"] / width,
            "step_s": part["seconds"] / part["steps"] if part["steps"] else 0.0,
        })  # fmt: skip
    return rows


def _slice(at: float, begin: float, width: float, count: int) -> int:
    return min(count - 1, int((at - begin) / width))
