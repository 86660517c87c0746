"""One way to train a model, and the levers that change it: what each frees is the difference of two ledgers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.adapters import RANK, adapted
from ironlaw.engine.training.growth import Growth
from ironlaw.engine.training.loss import head
from ironlaw.engine.training.recipes import OPTIMISERS, recipe_named
from ironlaw.engine.training.rewrites import three_kernels
from ironlaw.engine.training.training_layers import layers
from ironlaw.engine.training.training_ledger import Ledger, training_ledger, update
from ironlaw.errors import unknown

ATTENTION = ("fused", "three_kernels")
CHUNKS = 8  # of the loss, as a lever
SHARDED = 8  # devices of one box, where none are named
Build = Callable[[int, str], Graph]  # microbatch, format -> the forward pass


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a learner or a trainer decides; `batch` is one microbatch."""

    recipe: str = "fp32"
    optimiser: str = "adamw"
    batch: int = 1
    accumulate: int = 1
    checkpoint: int = 0
    loss_chunks: int = 1
    attention: str = "fused"
    zero_stage: int = 0
    devices: int = 1
    offload: bool = False
    lora: int = 0  # rank of adapters on a frozen model; 0: all weights are trained
    quantised: bool = False  # its weights in four bits


def ledger(build: Build, setup: Setup) -> Ledger:
    """The ledger of a setup."""
    graph = graph_of(build, setup)
    return training_ledger(
        graph, setup.recipe, setup.optimiser, checkpoint=setup.checkpoint, loss_chunks=setup.loss_chunks, accumulate=setup.accumulate,
        zero_stage=setup.zero_stage, devices=setup.devices, offload=setup.offload,
    )  # fmt: skip


def update_bytes(build: Build, setup: Setup) -> float:
    """What lies in memory while the optimiser steps, without going through the pass."""
    graph = graph_of(build, setup)
    share = {"zero_stage": setup.zero_stage, "devices": setup.devices}
    return float(update(graph, setup.recipe, setup.optimiser, offload=setup.offload, **share).total)


def graph_of(build: Build, setup: Setup) -> Graph:
    """The forward pass that is trained."""
    graph = build(setup.batch, recipe_named(setup.recipe).dtype)
    if setup.lora:
        graph = _with_adapters(graph, setup.lora, setup.quantised)
    if setup.attention not in ATTENTION:
        raise unknown("attention", setup.attention, ATTENTION)
    if setup.attention == "three_kernels":
        graph = _apart(graph)
    return graph


def _with_adapters(graph: Graph, rank: int, quantised: bool) -> Graph:
    key = "adapters", rank, quantised
    if key not in graph.plans:
        graph.plans[key] = adapted(graph, rank, quantised)
    made: Graph = graph.plans[key]
    return made


def _apart(graph: Graph) -> Graph:
    if "three_kernels" not in graph.plans:
        graph.plans["three_kernels"] = three_kernels(graph)
    apart: Graph = graph.plans["three_kernels"]
    return apart


def growth(build: Build, setup: Setup) -> Growth:
    """The same setup at any microbatch."""
    return Growth(ledger(build, replace(setup, batch=1)), ledger(build, replace(setup, batch=2)))


def levers(graph: Graph, setup: Setup) -> Iterator[tuple[str, Setup]]:
    """The single changes that could free memory from here, by name; `graph` is the model's, in any format."""
    count = len(layers(graph))
    if count and setup.checkpoint != count:
        yield "checkpoint", replace(setup, checkpoint=count)
    if head(graph) is not None and setup.loss_chunks < CHUNKS:
        yield "loss_chunks", replace(setup, loss_chunks=CHUNKS)
    if setup.attention != "fused" and any(op.kind == "attention" for op in graph.ops):
        yield "fused_attention", replace(setup, attention="fused")
    if setup.batch > 1:
        half = setup.batch // 2
        yield "half_batch", replace(setup, batch=half, accumulate=math.ceil(setup.batch * setup.accumulate / half))
    if setup.optimiser in ("adamw", "momentum") and setup.recipe != "pure":
        yield "adam8bit", replace(setup, optimiser="adam8bit")
    if setup.recipe == "fp32":
        yield "mixed", replace(setup, recipe="mixed")


LABELS = {
    "checkpoint": "recompute every layer",
    "loss_chunks": f"the loss in {CHUNKS} chunks",
    "fused_attention": "attention in one kernel",
    "half_batch": "half the microbatch",
    "adam8bit": f"{OPTIMISERS['adam8bit'].label}",
    "mixed": "BF16 with an FP32 master copy",
    "lora": f"adapters of rank {RANK} alone trained",
    "qlora": "the usual QLoRA: weights in NF4, paged 8-bit AdamW, every layer recomputed",
}


def fewer_trained(graph: Graph, setup: Setup) -> Iterator[tuple[str, Setup]]:
    """Training adapters in place of the weights. The usual QLoRA comes in BF16 first, then in the format at hand, for a model that has
    its own."""
    if not setup.lora:
        yield "lora", replace(setup, lora=RANK)
    if not setup.quantised:
        usual = replace(setup, lora=setup.lora or RANK, quantised=True, optimiser="paged_adam8bit", checkpoint=len(layers(graph)))
        yield "qlora", replace(usual, recipe="pure")
        if setup.recipe != "pure":
            yield "qlora", usual


def elsewhere(setup: Setup) -> Iterator[tuple[str, Setup]]:
    """Changes that free this device's memory by using another's: the host's, or that of more devices."""
    if not setup.offload and OPTIMISERS[setup.optimiser].state is not OPTIMISERS["sgd"].state:
        yield "offload", replace(setup, offload=True)
    if setup.zero_stage < 3:
        devices = setup.devices if setup.devices > 1 else SHARDED
        yield "zero", replace(setup, zero_stage=3, devices=devices)
