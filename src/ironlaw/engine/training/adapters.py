"""Low-rank adapters on every linear layer of a frozen model (LoRA), over weights as they are or in four bits (QLoRA).

    y = x·Wᵀ  →  y = x·Wᵀ + (x·Aᵀ)·Bᵀ · scale        A: rank × inner, B: outer × rank, the only trained weights

As PEFT does with `target_modules="all-linear"`: the output head has none, dropout is 0. In four bits as bitsandbytes stores NF4 with double
quantisation: half a byte for each weight, a scale in a byte for each 64 of them, and one in FP32 for each 256 scales. Every product unpacks
its weight anew, in the backward pass too, and the unpacked one is gone after it. Hu et al. 2021, Dettmers et al. 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ironlaw.engine.arrays import Number, ceil
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.loss import head
from ironlaw.errors import BadValue

RANK = 16  # where none is asked for
CODES, SCALED, SCALES = "fp4", 64, 256  # format of a weight; weights that share a scale; scales that share one
TABLE = 17  # numbers of FP32 beside them: sixteen values, and the scales' mean
ADAPTERS = ("lora_A", "lora_B")


def adapted(graph: Graph, rank: int, quantised: bool = False) -> Graph:
    """The same forward pass with an adapter beside each linear layer, whose own weight is frozen. `quantised`: and in four bits."""
    memo = dict[Any, Any]()
    chosen = {one.name for one in _chosen(graph)}
    if not chosen:
        raise BadValue(f"{graph.name} has no linear layer with a weight of its own: there is nothing to adapt")
    ops = [part for one in graph.ops for part in (_adapted(one, rank, quantised, memo) if one.name in chosen else (one,))]
    weights = {t.name for one in ops for t in one.inputs if t.role == "weight" and not t.name.endswith(ADAPTERS)}
    return replace(graph, ops=tuple(ops), settings={**graph.settings, "frozen": tuple(sorted(weights))})


def adapted_weights(graph: Graph) -> tuple[str, ...]:
    """The names of the weights that get an adapter."""
    return tuple(dict.fromkeys(one.inputs[1].name for one in _chosen(graph)))


def _chosen(graph: Graph) -> list[Op]:
    top = _top(graph)
    return [one for one in graph.ops if one is not top and one.kind == "linear" and one.inputs[1].role == "weight"]


def _top(graph: Graph) -> Op | None:
    """The output head: what makes the logits, or the last linear layer of a model that hands back its own loss."""
    if any(graph.tensors[name].size == 1 for name in graph.outputs):
        return next((one for one in reversed(graph.ops) if one.kind == "linear"), None)
    return head(graph)


def _adapted(one: Op, rank: int, quantised: bool, memo: dict[Any, Any]) -> Iterator[Op]:
    x, w, *bias = one.inputs
    y = one.outputs[0]
    outer, inner = w.shape
    base, added = replace(y, name=f"{y.name}.base"), replace(y, name=f"{y.name}.lora")
    if quantised:
        attrs = {**one.attrs, "unpacked": outer * inner * x.bytes / x.size}
        yield op("quantised_linear", f"{one.name}.base", (x, *packed(w), *bias), (base,), memo, **attrs)
    else:
        yield op("linear", f"{one.name}.base", one.inputs, (base,), memo, **one.attrs)
    down, up = (
        Tensor(f"{w.name}.{name}", shape, x.dtype, "weight") for name, shape in zip(ADAPTERS, ((rank, inner), (outer, rank)), strict=True)
    )
    narrow = Tensor(f"{y.name}.narrow", (*x.shape[:-1], rank), y.dtype)
    yield op("linear", f"{one.name}.lora_A", (x, down), (narrow,), memo)
    yield op("linear", f"{one.name}.lora_B", (narrow, up), (added,), memo)
    scaled = replace(added, name=f"{y.name}.scaled")
    yield op("scale", f"{one.name}.scaled", (added,), (scaled,), memo)
    yield op("add", one.name, (base, scaled), (y,), memo)


def packed(weight: Tensor) -> tuple[Tensor, ...]:
    """What a weight lies in memory as: codes, scales, scales of scales, and a small table."""
    blocks: Number = ceil(weight.size / SCALED)
    return (
        replace(weight, dtype=CODES, role="buffer"),
        Tensor(f"{weight.name} scales", (blocks,), "int8", "buffer"),
        Tensor(f"{weight.name} scales of scales", (ceil(blocks / SCALES),), "fp32", "buffer"),
        Tensor(f"{weight.name} table", (TABLE,), "fp32", "buffer"),
    )
