"""Bytes that every parameter costs: recipes (which formats), optimisers (what they remember), and ZeRO (who holds which part).

A recipe w + g + m: bytes of a weight, of its gradient, of its FP32 master copy; the optimiser's state comes on top. "2+2+12" is BF16
with a master copy and AdamW: 4 for the master, 8 for two moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ironlaw.engine.arrays import Number, ceil
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.errors import BadValue, unknown

BLOCK = 256  # values of 8-bit state that share a scale (bitsandbytes, block-wise)
PAGED = 1e5  # elements from which its paged optimisers let state move to the host's memory
SMALLEST = 4096  # elements from which bitsandbytes stores state in 8 bits


@dataclass(frozen=True, slots=True)
class Recipe:
    """Bytes of each parameter, and the format that the model's graph is in. `autocast`: products cast what they read to BF16."""

    label: str
    dtype: str
    gradient: float
    master: float
    state: float  # bytes of one number of the optimiser's state
    autocast: bool = False
    buffers: bool = False  # gradients are added into buffers that are always there


RECIPES = {
    "fp32": Recipe("FP32", "fp32", 4.0, 0.0, 4.0),
    "autocast": Recipe("autocast BF16", "fp32", 4.0, 0.0, 4.0, autocast=True),
    "mixed": Recipe("BF16, FP32 master", "bf16", 2.0, 4.0, 4.0),
    "mixed_fp32_grads": Recipe("BF16, FP32 master and gradients", "bf16", 4.0, 4.0, 4.0, buffers=True),
    "pure": Recipe("pure BF16", "bf16", 2.0, 0.0, 2.0),
}


@dataclass(frozen=True, slots=True)
class Optimiser:
    """`state`: bytes that it remembers of a tensor, given the bytes of one number; `scratch`: numbers per parameter while it steps."""

    label: str
    state: Callable[[Tensor, float], Number]
    scratch: float = 0.0


def _copies(count: float) -> Callable[[Tensor, float], Number]:
    return lambda t, size: count * t.size * size


def _eight_bit(t: Tensor, size: float) -> Number:
    """Two moments of one byte and a scale of four for each block; small tensors stay in FP32."""
    return 2.0 * (t.size + 4.0 * ceil(t.size / BLOCK)) if t.size >= SMALLEST else 8.0 * t.size


def _paged(t: Tensor, size: float) -> Number:
    """The moments of large tensors are out of the way when memory is short; their scales stay."""
    return 8.0 * ceil(t.size / BLOCK) if t.size >= PAGED else _eight_bit(t, size)


def _factors(t: Tensor, size: float) -> Number:
    """A row and a column in place of the second moment; a vector has no factors."""
    if len(t.shape) < 2:
        return t.size * size
    *outer, rows, columns = t.shape
    batch = 1
    for n in outer:
        batch = batch * n
    return batch * (rows + columns) * size


OPTIMISERS = {
    "sgd": Optimiser("SGD", _copies(0.0)),
    "momentum": Optimiser("SGD with momentum", _copies(1.0)),
    "adamw": Optimiser("AdamW", _copies(2.0), scratch=1.0),  # PyTorch's default takes every square root at once
    "adam8bit": Optimiser("8-bit Adam", _eight_bit),
    "paged_adam8bit": Optimiser("paged 8-bit AdamW", _paged),
    "adafactor": Optimiser("Adafactor", _factors),
}


@dataclass(frozen=True, slots=True)
class Static:
    """Bytes that do not depend on the batch."""

    weights: Number
    gradients: Number
    master: Number
    optimiser: Number

    @property
    def total(self) -> Number:
        return self.weights + self.gradients + self.master + self.optimiser


def recipe_named(name: str) -> Recipe:
    if name not in RECIPES:
        raise unknown("training recipe", name, RECIPES)
    return RECIPES[name]


def optimiser_named(name: str) -> Optimiser:
    if name not in OPTIMISERS:
        raise unknown("optimiser", name, OPTIMISERS)
    return OPTIMISERS[name]


def frozen(graph: Graph) -> tuple[Tensor, ...]:
    """Weights that need no gradient, in the formats that they are stored in."""
    names = frozenset(graph.settings.get("frozen", ()))
    return tuple(t for t in graph.tensors.values() if t.role == "weight" and t.name in names)


def parameters(graph: Graph) -> tuple[Tensor, ...]:
    """The trained tensors, tied ones once."""
    if "parameters" not in graph.plans:
        names = frozenset(graph.settings.get("frozen", ()))
        graph.plans["parameters"] = tuple(t for t in graph.tensors.values() if t.role == "weight" and t.name not in names)
    tensors: tuple[Tensor, ...] = graph.plans["parameters"]
    return tensors


def static(weights: Iterable[Tensor], recipe: str = "fp32", optimiser: str = "adamw") -> Static:
    """Weights, gradients, master copy and optimiser state of some parameters."""
    plan, keeps = recipe_named(recipe), optimiser_named(optimiser)
    tensors = tuple(weights)
    count = sum(t.size for t in tensors)
    weight = 4.0 if plan.dtype == "fp32" else 2.0
    return Static(weight * count, plan.gradient * count, plan.master * count, sum(keeps.state(t, plan.state) for t in tensors))


def zero(held: Static, stage: int, devices: int) -> Static:
    """ZeRO: stage 1 splits optimiser and master copy over the devices, 2 the gradients too, 3 the weights too."""
    if stage not in range(4):
        raise BadValue(f"{stage!r} is not a valid ZeRO stage; give 0, 1, 2 or 3")
    if devices < 1:
        raise BadValue(f"ZeRO over {devices!r} devices; give at least 1")
    if stage >= 1:
        held = replace(held, optimiser=held.optimiser / devices, master=held.master / devices)
    if stage >= 2:
        held = replace(held, gradients=held.gradients / devices)
    return replace(held, weights=held.weights / devices) if stage == 3 else held
