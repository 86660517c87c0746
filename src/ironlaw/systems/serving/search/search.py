"""The search behind `ironlaw capacity`: machines, devices that share a replica, and the fewest replicas of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ironlaw.engine.costs import ENERGY
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.errors import BadValue, IronlawError
from ironlaw.systems.serving.deployments import Deployment, box_of, deployment, weigh
from ironlaw.systems.serving.search.choice_rows import frontier_rows, row, slices
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import BUDGETS, best_policy, name, too_slow

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import RefusalJson
    from ironlaw.outputs.serving_output import CapacityJson

SHARED = (1, 2, 4, 8)  # devices of one replica that are tried


def search(asked: Demand) -> CapacityJson:
    """Every machine's best choice, the fewest devices of all, the cheapest, and the frontier of speed against throughput."""
    choices: list[Choice] = []
    refused: list[RefusalJson] = []
    tables: list[Deployment] = []
    faults = 0  # machines that can't serve it at all, whatever is promised
    for machine in asked.on:
        try:
            best = _best(asked, machine, tables)
        except IronlawError as error:
            faults += 1
            refused.append({"hardware": machine.slug, "reason": str(error)})
            continue
        if isinstance(best, Choice):
            choices.append(best)
        else:
            refused.append({"hardware": machine.slug, "reason": best})
    if not choices and faults == len(asked.on):
        raise BadValue("; ".join(one["reason"] for one in refused))
    rows = [row(asked, choice) for choice in choices]
    priced = [one for one in rows if one["dollars_per_million_tokens"] is not None]
    result: CapacityJson = {
        "model": asked.decoder.name, "load": dict(asked.about),
        "promise": {
            "ttft_s": asked.promise.ttft, "tbt_s": None if math.isinf(asked.promise.tbt) else asked.promise.tbt, "tpot_s": asked.tpot,
            "share": asked.promise.share,
        },
        "choices": rows, "refused": refused,
        "fewest": min(rows, key=lambda one: (one["devices"], one["dollars_per_hour"] or 0.0))["hardware"] if rows else None,
        "cheapest": min(priced, key=lambda one: one["dollars_per_hour"] or 0.0)["hardware"] if priced else None,
        "unpriced": [m.slug for m in asked.on if m.slug not in asked.prices],
        "prices": {slug: price.as_dict() for slug, price in asked.prices.items()}, "energy": ENERGY,
        "frontier": frontier_rows(asked, tables),
    }  # fmt: skip
    if asked.simulate and choices:
        chosen = next(c for c in choices if c.deployment.hardware.slug == (result["cheapest"] or result["fewest"]))
        result["run"] = {"hardware": chosen.deployment.hardware.slug, "slices": slices(chosen.answer.outcome)}
    return result


def _best(asked: Demand, machine: Hardware, tables: list[Deployment]) -> Choice | str:
    """The fewest devices on one machine; more of them share a replica as long as that may save some. Or why there is no choice."""
    best: Choice | None = None
    why = ""
    for devices in sizes(asked, machine):
        if best is not None and devices >= best.devices:
            break
        rig = deployment(
            asked.decoder, machine, devices, weights=asked.weights or "", cache=asked.cache or "", budget=asked.budget or BUDGETS[3],
            memory=asked.memory, overhead=asked.overhead, draft=asked.proposer, products=asked.arithmetic or "",
            tokens=round(asked.about["prompt"] + asked.about["output"]),
        )  # fmt: skip
        tables.append(rig)
        why = too_slow(asked, rig)
        choice = None if why else best_policy(asked, rig, asked.most if best is None else (best.devices - 1) // devices)
        if choice is not None:
            best = choice
        elif not why:
            why = f"not even {asked.most} replicas of {name(rig)} meet the SLO; allow more replicas or more time"
    return best or why


def sizes(asked: Demand, machine: Hardware) -> tuple[int, ...]:
    """How many devices may share a replica: as asked, or from the fewest that hold the weights."""
    if asked.tp:
        return (asked.tp,)
    joint = box_of(machine)
    able = [n for n in SHARED if n == 1 or (joint and n <= joint.devices and _divides(asked.decoder, n))]
    weights = asked.weights or asked.arithmetic or ""
    holding = [n for n in able if weigh(asked.decoder, machine, n, weights, BUDGETS[3], asked.memory)[2] > 0]
    return tuple(holding or able[-1:])  # the last one's refusal says what is missing


def _divides(model: Decoder, devices: int) -> bool:
    try:
        model.shard(devices)
    except BadValue:
        return False
    return True
