"""Adapters in a model that is to be captured: LoRA beside its linear layers, and QLoRA, whose weights lie in NF4 and whose optimiser is
bitsandbytes' paged 8-bit AdamW. `engine.training.adapters` adds the same to a forward pass by rules; the two agree to the byte.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ironlaw.engine.training.adapters import SCALED, SCALES, TABLE, adapted_weights
from ironlaw.engine.training.recipes import BLOCK, PAGED, SMALLEST
from ironlaw.errors import BadValue
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar
from ironlaw.tracing.target import Target

RULES: dict[str, Rule] = {}
rule = registrar(RULES)
EIGHT_BIT = "eight_bit"  # a change of a captured step: its optimiser is bitsandbytes'


@torch.library.custom_op("ironlaw::unpack_nf4", mutates_args=())
def unpack_nf4(codes: Tensor, scales: Tensor, second: Tensor, table: Tensor, like: Tensor) -> Tensor:
    raise NotImplementedError("only ever run on fake tensors")


@unpack_nf4.register_fake
def _(codes: Tensor, scales: Tensor, second: Tensor, table: Tensor, like: Tensor) -> Tensor:
    return like.new_empty((codes.shape[0], 2 * codes.shape[1]))


@rule("unpack_nf4")
def unpacked(call: Call) -> OpDraft:
    """What it is like says only the format."""
    return OpDraft("cast", call.inputs[:4], call.outputs)


@torch.library.custom_op("ironlaw::eight_bit_update", mutates_args=("weight", "state"))
def eight_bit_update(weight: Tensor, gradient: Tensor, state: list[Tensor]) -> None:
    raise NotImplementedError("only ever run on fake tensors")


@eight_bit_update.register_fake
def _(weight: Tensor, gradient: Tensor, state: list[Tensor]) -> None:
    return None


@rule("eight_bit_update")
def update(call: Call) -> OpDraft:
    """A kernel for each tensor; the gradient is read alone."""
    weight, gradient, *state = call.inputs
    return OpDraft("foreach", [weight, gradient, *state], [weight, *state], {"launches": 1.0})


class Unpacking(torch.autograd.Function):
    """A product with a weight in four bits: unpacked for the forward pass, and anew for the gradient (bitsandbytes' MatMul4Bit)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor | None, *stored: Tensor) -> Tensor:
        ctx.stored = stored
        return functional.linear(x, unpack_nf4(*stored, x), bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        return gradient @ unpack_nf4(*ctx.stored, gradient), None, *(None for _ in ctx.stored)


class Adapted(nn.Module):
    """A frozen linear layer, and a narrow pair of trained ones beside it: `x·Wᵀ + (x·Aᵀ)·Bᵀ · scale`."""

    def __init__(self, layer: nn.Linear, rank: int, quantised: bool) -> None:
        super().__init__()
        outer, inner = layer.weight.shape
        made = {"bias": False, "dtype": layer.weight.dtype, "device": layer.weight.device}
        self.base = None if quantised else layer
        self.bias = layer.bias if quantised else None
        if quantised:
            blocks, device = math.ceil(outer * inner / SCALED), layer.weight.device
            self.register_buffer("codes", torch.empty(outer, inner // 2, dtype=torch.uint8, device=device))
            self.register_buffer("scales", torch.empty(blocks, dtype=torch.uint8, device=device))
            self.register_buffer("second", torch.empty(math.ceil(blocks / SCALES), device=device, dtype=torch.float32))
            self.register_buffer("table", torch.empty(TABLE, device=device, dtype=torch.float32))
        self.lora_A, self.lora_B = nn.Linear(inner, rank, **made), nn.Linear(rank, outer, **made)

    def forward(self, x: Tensor) -> Tensor:
        stored = (getattr(self, name) for name in ("codes", "scales", "second", "table"))
        base = self.base(x) if self.base is not None else Unpacking.apply(x, self.bias, *stored)
        return base + self.lora_B(self.lora_A(x)) * 2.0


class EightBit(torch.optim.Optimizer):
    """bitsandbytes' AdamW: moments of a byte with a scale for each block, of small tensors in FP32; those of large ones are paged, and
    out of the way when memory is short."""

    def __init__(self, weights: list[Tensor]) -> None:
        super().__init__(weights, {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for weight in self.param_groups[0]["params"]:
            kept = self.state[weight]
            if not kept:
                kept.update(_moments(weight))
            eight_bit_update(weight, weight.grad, list(kept.values()))


def _moments(weight: Tensor) -> dict[str, Tensor]:
    count, device = weight.numel(), weight.device
    if count < SMALLEST:
        return {name: torch.zeros(count, device=device) for name in ("first", "second")}
    scales = {f"{name}_scales": torch.zeros(math.ceil(count / BLOCK), device=device) for name in ("first", "second")}
    if count >= PAGED:
        return scales
    return {name: torch.zeros(count, dtype=torch.uint8, device=device) for name in ("first", "second")} | scales


def adapt(target: Target, forward: Any, rank: int, quantised: bool) -> None:
    """Puts adapters into the target's module, in place. `forward`: its captured forward pass, which says which layers are run as such, and
    which of them makes the logits."""
    module = target.call
    if not isinstance(module, nn.Module):
        raise BadValue("adapters go into a model, and this is a function; name the nn.Module and its inputs")
    chosen = adapted_weights(forward)
    places = {f"{path}.weight": path for path, child in module.named_modules() if type(child) is nn.Linear}
    found = [places[name] for name in chosen if name in places]
    if not found:
        raise BadValue(f"{target.name} has no nn.Linear beside its output head: there is nothing to adapt")
    module.requires_grad_(False)
    for path in found:
        parent, _, name = path.rpartition(".")
        home = module.get_submodule(parent)
        home._modules[name] = Adapted(home.get_submodule(name), rank, quantised)  # type: ignore[arg-type]
    kind = "QLoRA" if quantised else "LoRA"
    target.notes.append(
        f"{kind} of rank {rank} on {len(found)} linear layers, all else frozen"
        + ("; NF4 with double quantisation and paged 8-bit AdamW as in bitsandbytes, every block checkpointed" if quantised else "")
    )
