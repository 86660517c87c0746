"""One step of an LSTM or GRU cell as a GPU runs it: two products, then one kernel for the gates. A processor runs every gate by itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

WORKSPACE = {"lstm_cell": 4, "gru_cell": 5}  # states' worth of gates that the gradient needs


@torch.library.custom_op("ironlaw::fused_cell", mutates_args=())
def fused_cell(inward: Tensor, across: Tensor, state: Tensor, biases: list[Tensor], kept: int) -> tuple[Tensor, Tensor, Tensor]:
    """The new state, an LSTM's cell state, and what is `kept` of the gates."""
    raise NotImplementedError("only ever run on fake tensors")


@fused_cell.register_fake
def _(inward: Tensor, across: Tensor, state: Tensor, biases: list[Tensor], kept: int) -> tuple[Tensor, Tensor, Tensor]:
    batch, hidden = state.shape
    return torch.empty_like(state), state.new_empty((batch, hidden if kept == 4 else 0)), state.new_empty((batch, kept * hidden))


@torch.library.custom_op("ironlaw::fused_cell_backward", mutates_args=())
def fused_cell_backward(gradient: Tensor, kept: Tensor, gates: int) -> tuple[Tensor, Tensor, Tensor]:
    raise NotImplementedError("only ever run on fake tensors")


@fused_cell_backward.register_fake
def _(gradient: Tensor, kept: Tensor, gates: int) -> tuple[Tensor, Tensor, Tensor]:
    batch, hidden = gradient.shape
    inward = gradient.new_empty((batch, gates * hidden))
    return inward, inward.new_empty((batch, gates * hidden)), torch.empty_like(gradient)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(output[2])
    ctx.gates, ctx.biases = inputs[0].shape[1] // inputs[2].shape[1], len(inputs[3])


def _gradients(ctx: Any, state: Tensor, *others: Tensor) -> Any:
    inward, across, before = fused_cell_backward(state, *ctx.saved_tensors, ctx.gates)
    sums = [(inward if i == 0 else across).sum(0) for i in range(ctx.biases)]
    return inward, across, before, sums, None


fused_cell.register_autograd(_gradients, setup_context=_keep)


def step(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `torch.lstm_cell` and `torch.gru_cell` return; None for a form that is not a batch of samples."""
    if kwargs or len(args) not in (4, 6):
        return None
    x, state, w_in, w_across, *biases = args
    hidden = state[0] if isinstance(state, (tuple, list)) else state
    if not isinstance(x, Tensor) or x.dim() != 2:
        return None
    inward, across = functional.linear(x, w_in), functional.linear(hidden, w_across)
    before = (state[1] if isinstance(state, (tuple, list)) else state).to(inward.dtype)
    used = [b.to(inward.dtype) for b in biases if b is not None]
    after, cell, _ = fused_cell(inward, across, before, used, WORKSPACE[name])
    return (after, cell) if name == "lstm_cell" else after
