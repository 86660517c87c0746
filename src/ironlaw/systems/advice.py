"""`ironlaw.advise`: what to do next, with what the registry knows of compile times, prices and other machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from ironlaw.backends.optimiser_rewrites import fused, in_lists
from ironlaw.engine.advice.action_names import CHUNKED, FLASH, FUSED, LISTS, SYNCS
from ironlaw.engine.advice.advise import Advice
from ironlaw.engine.advice.advise import advise as engine_advise
from ironlaw.engine.advice.chunked_loss import in_parts
from ironlaw.engine.advice.program import Sources
from ironlaw.engine.advice.programs import unmasked
from ironlaw.engine.device.host_links import without_waits
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.registry.machines import compile_cost, hardware
from ironlaw.registry.prices import prices, prices_of
from ironlaw.registry.program_changes import change_words
from ironlaw.systems.named_calls import as_graph, predict
from ironlaw.systems.training.device_advice import several_devices

REWRITES = {SYNCS: without_waits, FUSED: fused, LISTS: in_lists, FLASH: unmasked, CHUNKED: in_parts}
OTHERS = 3  # machines of each kind that are tried where none are named: with most bandwidth, and with most of it per dollar


def advise(
    graph: Graph | str, machine: Hardware | str, plan: Plan | str | None = None, larger: Mapping[int, Graph] | None = None
) -> Advice:
    """Where the time goes, and what surely helps: at most three changes (of a training step, all that help) and another machine.

    Each has its gain, its interval and its costs.

    `larger`: the same call at so many times the batch, to see what that would gain.

    >>> import ironlaw as il
    >>> advice = il.advise(il.workload("resnet50", batch=8, dtype="fp16"), il.hardware("h200_sxm"))
    >>> advice.actions[0].title
    'torch.compile with CUDA graphs'
    """
    graph = as_graph(graph)
    return advice(Sources(graph, larger or {}), predict(graph, machine, plan))


def advice(sources: Sources, prediction: Prediction, machines: Iterable[Hardware] = (), given: Mapping[str, float] | None = None) -> Advice:
    """`machines`: others to try; where none are named, some that can be rented. `given`: dollars per hour, before the registry's."""
    others = [one for one in machines if one.slug != prediction.hardware.slug] or rented(prediction.hardware)
    known = prices_of([prediction.hardware.slug, *(one.slug for one in others)], given or {})
    per_hour = {slug: one.per_hour for slug, one in known.items()}
    per_kernel, more = compile_cost(prediction.hardware)[0], partial(several_devices, per_hour)
    return engine_advise(replace(sources, rewrites=REWRITES), prediction, others, per_kernel, per_hour, change_words(), more)


def rented(machine: Hardware) -> list[Hardware]:
    """Machines with a price in the registry that stand where this one does: those with most bandwidth, and with most of it per dollar."""
    if machine.kind != "gpu":
        return []
    per_hour = {slug: one.per_hour for slug, one in prices_of(prices(), {}).items()}
    others = [one for slug in per_hour if slug != machine.slug and (one := hardware(slug)).context == machine.context]
    fast = sorted(others, key=lambda one: -float(one.bandwidth))[:OTHERS]
    cheap = sorted(others, key=lambda one: -float(one.bandwidth) / per_hour[one.slug])[:OTHERS]
    return list({one.slug: one for one in (*fast, *cheap)}.values())
