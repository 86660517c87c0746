"""Tokens per second of each device against tokens per second of each user: what a load that never ends would get.

In a steady state, as many prompt tokens come with each new token as prompts are longer than answers. Together, a step decodes for a batch
and takes in that many tokens of prompts. Apart, a decoding replica's batch runs alone, and devices that only prefill keep up with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ironlaw.systems.serving.deployments import Deployment
from ironlaw.systems.serving.search.demand import Demand
from ironlaw.systems.serving.search.fewest import BUDGETS

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import LayoutJson, ParetoPoint

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def layout_row(rig: Deployment) -> LayoutJson:
    at = rig.layout
    return {"tensor": at.tensor, "stages": at.stages, "groups": at.groups, "whole_experts": at.whole}


def pareto(asked: Demand, tables: list[Deployment]) -> list[ParetoPoint]:
    """For each machine, what no other batch, layout or split into pools beats in both; the fastest for a user first."""
    best: list[ParetoPoint] = []
    for slug in dict.fromkeys(rig.hardware.slug for rig in tables):
        points = [point for rig in tables if rig.hardware.slug == slug for point in _points(asked, rig)]
        points.sort(key=lambda one: (-one["tokens_per_s_user"], -one["tokens_per_s_each"]))
        most = 0.0
        for point in points:
            if point["tokens_per_s_each"] > most * (1 + 1e-9):
                most = point["tokens_per_s_each"]
                best.append(point)
    return best


def _points(asked: Demand, rig: Deployment) -> Iterator[ParetoPoint]:
    prompt, output = max(1.0, asked.about["prompt"] - (asked.prefix or 0)), max(1.0, asked.about["output"])
    context = asked.about["prompt"] + output / 2
    price = asked.prices.get(rig.hardware.slug)
    ways = rig.layout.ways
    prefill = ways * BUDGETS[3] / rig.table.seconds(0, 0.0, [(BUDGETS[3], 0)] * ways, ways)  # prompt tokens per second
    for batch in dict.fromkeys(ways * one for one in BATCHES):
        if batch > min(rig.slots(round(context)), asked.most_sequences(rig.hardware) * ways):
            break
        piece = max(1, round(batch * prompt / output / ways))
        if piece <= BUDGETS[-1] and not asked.apart:
            seconds = rig.table.seconds(batch, batch * context, [(piece, round(prompt / 2))] * ways, max(1, round(batch / output)))
            yield _point(asked, rig, "together", batch, 1 / seconds, batch / seconds / rig.devices, price)
        seconds = rig.table.seconds(batch, batch * context)
        beside = batch / seconds * prompt / output / prefill  # replicas for prompts beside one that decodes
        yield _point(asked, rig, "apart", batch, 1 / seconds, batch / seconds / rig.devices / (1 + beside), price)


def _point(asked: Demand, rig: Deployment, pools: str, batch: int, user: float, each: float, price: object) -> ParetoPoint:
    per_hour = getattr(price, "per_hour", None)
    return {
        "hardware": rig.hardware.slug, "basis": rig.basis, "layout": layout_row(rig), "devices_per_replica": rig.devices, "pools": pools,
        "batch": batch,
        "tokens_per_s_user": user, "tokens_per_s_each": each,
        "dollars_per_million_tokens": None if per_hour is None else per_hour / 3600 / each * 1e6,
    }  # fmt: skip


def most_tokens(asked: Demand, rig: Deployment) -> float:
    """New tokens per second of one replica, were time no matter."""
    return max((point["tokens_per_s_each"] for point in _points(asked, rig)), default=0.0) * rig.devices
