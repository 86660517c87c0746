"""The search behind `ironlaw serve`: machines, devices that share a replica, tokens a step; the fewest replicas of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ironlaw.engine.costs import Offer, device_hours
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.numerics.frontier import Point, frontier
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.load import Request
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Answer, Promise, fewest
from ironlaw.errors import BadValue, IronlawError
from ironlaw.registry.deployments import Deployment, box_of, deployment, weigh
from ironlaw.registry.prices import Price
from ironlaw.report.costs import ENERGY
from ironlaw.units import show

SCHEMA = "ironlaw-serve/1"  # of what --json writes
BUDGETS = (256, 512, 1024, 2048, 4096, 8192)
SHARED = (1, 2, 4, 8)  # devices of one replica that are tried
TYPICAL = 32  # sequences that decode beside a prompt where its pieces are chosen
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # of the frontier
SAMPLE = 4  # replicas that stand for all while the fewest are looked for
ALONE = 200  # requests that are tried one at a time
SLICES = 12  # of a run over time


@dataclass(frozen=True)
class Search:
    """What was asked for. `load`: the requests for so many replicas."""

    model: Decoder
    machines: tuple[Hardware, ...]
    load: Callable[[int], tuple[Request, ...]]
    about: Mapping[str, Any]
    promise: Promise
    weights: str = ""
    cache: str = ""
    devices: int | None = None
    batch: int = 256
    budget: int | None = None
    memory: float = 0.9
    overhead: float = 0.0
    most: int = 64
    prices: Mapping[str, Price] = field(default_factory=dict)
    simulate: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Choice:
    """A way to keep the promise."""

    deployment: Deployment
    policy: Policy
    answer: Answer

    @property
    def devices(self) -> int:
        return self.deployment.devices * self.answer.replicas


def search(asked: Search) -> dict[str, Any]:
    """Every machine's best choice, the fewest devices of all, the cheapest, and the frontier of speed against throughput."""
    choices: list[Choice] = []
    refused: list[dict[str, str]] = []
    tables: list[Deployment] = []
    for machine in asked.machines:
        try:
            best = _best(asked, machine, tables)
        except IronlawError as error:
            refused.append({"hardware": machine.slug, "reason": str(error)})
            continue
        if isinstance(best, Choice):
            choices.append(best)
        else:
            refused.append({"hardware": machine.slug, "reason": best})
    if not choices and not tables:
        raise BadValue("; ".join(row["reason"] for row in refused))
    rows = [_row(asked, choice) for choice in choices]
    priced = [row for row in rows if row["dollars_per_million_tokens"] is not None]
    result: dict[str, Any] = {
        "schema": SCHEMA, "model": asked.model.name, "load": dict(asked.about),
        "promise": {"ttft_s": asked.promise.ttft, "tbt_s": asked.promise.tbt, "share": asked.promise.share},
        "choices": rows, "refused": refused,
        "fewest": min(rows, key=lambda row: (row["devices"], row["dollars_per_hour"] or 0.0))["hardware"] if rows else None,
        "cheapest": min(priced, key=lambda row: row["dollars_per_hour"])["hardware"] if priced else None,
        "unpriced": [m.slug for m in asked.machines if m.slug not in asked.prices],
        "prices": {slug: price.as_dict() for slug, price in asked.prices.items()}, "energy": ENERGY, "frontier": _frontier(asked, tables),
    }  # fmt: skip
    if asked.simulate and choices:
        chosen = next(c for c in choices if c.deployment.hardware.slug == (result["cheapest"] or result["fewest"]))
        result["run"] = {"hardware": chosen.deployment.hardware.slug, "slices": slices(chosen.answer.outcome)}
    return result


def _best(asked: Search, machine: Hardware, tables: list[Deployment]) -> Choice | str:
    """The fewest devices on one machine; more of them share a replica as long as that may save some. Or why there is no choice."""
    best: Choice | None = None
    why = ""
    for devices in _sizes(asked, machine):
        if best is not None and devices >= best.devices:
            break
        made = deployment(
            asked.model, machine, devices, weights=asked.weights, cache=asked.cache, budget=asked.budget or BUDGETS[3], memory=asked.memory,
            overhead=asked.overhead,
        )  # fmt: skip
        tables.append(made)
        why = _too_slow(asked, made)
        choice = None if why else _fewest(asked, made, asked.most if best is None else (best.devices - 1) // devices)
        if choice is not None:
            best = choice
        elif not why:
            why = f"not even {asked.most} replicas of {_name(made)} keep the promise; allow more with --most, or promise more time"
    return best or why


def _sizes(asked: Search, machine: Hardware) -> tuple[int, ...]:
    """How many devices may share a replica: as asked, or from the fewest that hold the weights."""
    if asked.devices:
        return (asked.devices,)
    joint = box_of(machine)
    able = [n for n in SHARED if n == 1 or (joint and n <= joint.devices and not asked.model.heads % n and not asked.model.ffn % n)]
    holding = [n for n in able if weigh(asked.model, machine, n, asked.weights, BUDGETS[3], asked.memory)[2] > 0]
    return tuple(holding or able[-1:])  # the last one's refusal says what is missing


def _fewest(asked: Search, made: Deployment, most: int) -> Choice | None:
    best: Choice | None = None
    for budget in _budgets(asked, made):
        policy = Policy(most=min(asked.batch, budget), budget=budget)
        most = most if best is None else best.answer.replicas - 1
        answer = _replicas(asked, made, policy, most)
        if answer is not None:
            best = Choice(made, policy, answer)
    return best


def _replicas(asked: Search, made: Deployment, policy: Policy, most: int) -> Answer | None:
    """The fewest by a sample of replicas, which are dealt requests alike; then all of them, and more where the sample was lucky."""

    def sample(replicas: int) -> Outcome:
        requests = asked.load(replicas)
        few = min(replicas, SAMPLE)
        return made.run([r for i, r in enumerate(requests) if i % replicas < few], policy, few, asked.seed)

    answer = fewest(sample, asked.promise, most, _least(asked, made, policy.budget)) if most else None
    while answer is not None and answer.replicas > SAMPLE:
        full = made.run(asked.load(answer.replicas), policy, answer.replicas, asked.seed)
        broken = asked.promise.binds(full)
        if not broken:
            return replace(answer, outcome=full)
        answer = Answer(answer.replicas + 1, full, broken) if answer.replicas < most else None
    return answer


def _budgets(asked: Search, made: Deployment) -> tuple[int, ...]:
    """Tokens a step: as asked; or the most with which a step beside a typical batch keeps the promise, and half of that."""
    if asked.budget:
        return (asked.budget,)
    context = TYPICAL * (asked.about["prompt"] + asked.about["output"] / 2)
    able = [b for b in BUDGETS if made.table.seconds(TYPICAL, context, [(b - TYPICAL, 0)], 1) <= asked.promise.tbt]
    return tuple(reversed(able[-2:])) or BUDGETS[:1]


def _least(asked: Search, made: Deployment, budget: int) -> int:
    """Replicas without which not even the prompts could be computed, were nothing else to do."""
    if not asked.about["rate"]:
        return 1
    return max(1, math.ceil(0.95 * float(asked.about["rate"] * asked.about["prompt"]) / budget * made.table.dense.at(budget)))


def _too_slow(asked: Search, made: Deployment) -> str:
    """What breaks the promise for requests that have a replica to themselves; "" where they keep it."""
    requests = asked.load(1)[:ALONE]
    policy = Policy(budget=_budgets(asked, made)[0], most=1)
    alone = made.run([r._replace(arrive=1e4 * i) for i, r in enumerate(requests)], policy)
    times = {"ttft": alone.ttft(asked.promise.share), "tbt": alone.tbt(asked.promise.share)}
    names = {"ttft": "to the first token", "tbt": "between tokens"}
    parts = " and ".join(f"{show(times[key], 's')} {names[key]}" for key in asked.promise.broken(alone))
    advice = "promise more time, or take a faster machine, more devices a replica or narrower weights"
    return f"{_name(made)} takes {parts} even for a request that is alone; {advice}" if parts else ""


def _name(made: Deployment) -> str:
    return f"{made.devices} × {made.hardware.slug}" if made.devices > 1 else made.hardware.slug


def _row(asked: Search, choice: Choice) -> dict[str, Any]:
    made, out, share = choice.deployment, choice.answer.outcome, asked.promise.share
    price = asked.prices.get(made.hardware.slug)
    tokens = tokens_per_s(out)
    offer = Offer(made.hardware.slug, 1.0, tokens, float(made.hardware.power), price.per_hour if price else None, choice.devices)
    return {
        "hardware": made.hardware.slug, "basis": made.table.basis, "devices": choice.devices, "replicas": choice.answer.replicas,
        "devices_per_replica": made.devices, "box": made.box.slug if made.box else None, "arithmetic": made.dtype, "weights": made.weights,
        "cache": made.cache, "weight_bytes": made.weight_bytes, "cache_bytes": made.cache_bytes, "cache_peak": out.peak,
        "slots": made.slots(round(asked.about["prompt"] + asked.about["output"])), "budget": choice.policy.budget,
        "most": choice.policy.most, "batch": out.batch, "busy": out.busy, "requests": len(out.requests), "preempted": out.preempted,
        "ttft_s": {"p50": out.ttft(0.5), "promised": out.ttft(share)}, "tbt_s": {"p50": out.tbt(0.5), "promised": out.tbt(share)},
        "tokens_per_s": tokens, "goodput_per_s": out.goodput(asked.promise.ttft, asked.promise.tbt), "binds": choice.answer.binds,
        "device_hours_per_million_tokens": device_hours(1.0, tokens, choice.devices),
        "dollars_per_hour": price.per_hour * choice.devices if price else None, "dollars_per_million_tokens": offer.dollars,
        "joules_per_million_tokens": offer.joules,
    }  # fmt: skip


def tokens_per_s(out: Outcome) -> float:
    """New tokens a second while requests arrive: what is still being answered after the last one came is no idle machine's fault."""
    window = out.requests[-1].arrive - out.requests[0].arrive
    return out.tokens / window if window else out.throughput


def _frontier(asked: Search, tables: list[Deployment]) -> list[dict[str, Any]]:
    """Full batches of decoding that no other beats in both time between tokens and cost: dollars, or devices where a price is missing."""
    tokens = round(asked.about["prompt"] + asked.about["output"] / 2)
    priced = all(made.hardware.slug in asked.prices for made in tables)
    points: dict[Point, dict[str, Any]] = {}
    for made in tables:
        for batch in BATCHES:
            if batch > min(made.slots(tokens), asked.batch):
                break
            seconds = made.table.seconds(batch, batch * tokens)
            each = batch / seconds / made.devices
            hours = device_hours(1.0, each)
            dollars = hours * asked.prices[made.hardware.slug].per_hour if priced else None
            points[Point(f"{made.hardware.slug} {made.devices} {batch}", seconds, hours if dollars is None else dollars)] = {
                "hardware": made.hardware.slug, "devices_per_replica": made.devices, "batch": batch, "tbt_s": seconds,
                "tokens_per_s_each": each, "dollars_per_million_tokens": dollars,
            }  # fmt: skip
    return [points[point] for point in frontier(points)]


def slices(outcome: Outcome, count: int = SLICES) -> list[dict[str, float]]:
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
    rows = []
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
