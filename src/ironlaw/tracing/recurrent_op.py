"""LSTM, GRU and plain recurrent layers as one op, as cuDNN takes them, and their gradients as another; in the odd forms (packed sequences,
projections) PyTorch's own steps are recorded one by one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CELLS = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn", "rnn_relu": "rnn"}
RESERVED = {"lstm": 6, "gru": 5, "rnn": 1}  # states' worth of each step that the gradient needs: gates, and what becomes of the cell


@torch.library.custom_op("ironlaw::recurrent", mutates_args=())
def recurrent(x: Tensor, weights: list[Tensor], cell: str, hidden: int, layers: int, directions: int) -> Tensor:
    raise NotImplementedError("only ever run on fake tensors")


@recurrent.register_fake
def _(x: Tensor, weights: list[Tensor], cell: str, hidden: int, layers: int, directions: int) -> Tensor:
    return x.new_empty((*x.shape[:2], hidden * directions))


@torch.library.custom_op("ironlaw::recurrent_training", mutates_args=())
def recurrent_training(
    x: Tensor, weights: list[Tensor], states: list[Tensor], cell: str, hidden: int, layers: int, directions: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Its result, what is kept for the gradient, and the last states: the hidden one, and an LSTM's cell."""
    raise NotImplementedError("only ever run on fake tensors")


@recurrent_training.register_fake
def _(
    x: Tensor, weights: list[Tensor], states: list[Tensor], cell: str, hidden: int, layers: int, directions: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    kept = x.new_empty((*x.shape[:2], RESERVED[cell] * hidden * directions * layers))
    out = x.new_empty((*x.shape[:2], hidden * directions))
    return out, kept, torch.empty_like(states[0]), torch.empty_like(states[-1])


@torch.library.custom_op("ironlaw::recurrent_backward", mutates_args=())
def recurrent_backward(
    x: Tensor, gradient: Tensor, out: Tensor, kept: Tensor, weights: list[Tensor], states: list[Tensor], wanted: bool,
    cell: str, hidden: int, layers: int, directions: int,
) -> list[Tensor]:  # fmt: skip
    """`wanted`: whether the gradient of what comes in is asked for; those of the weights and of the first states follow."""
    raise NotImplementedError("only ever run on fake tensors")


@recurrent_backward.register_fake
def _(
    x: Tensor, gradient: Tensor, out: Tensor, kept: Tensor, weights: list[Tensor], states: list[Tensor], wanted: bool,
    cell: str, hidden: int, layers: int, directions: int,
) -> list[Tensor]:  # fmt: skip
    return [torch.empty_like(t) for t in (*((x,) if wanted else ()), *weights, *states)]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    x, weights, states, *ctx.form = inputs
    ctx.counts = len(weights), len(states)
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(x, output[0], output[1], *weights, *states)


def _gradients(ctx: Any, gradient: Tensor | None, _: Any, *of_states: Tensor | None) -> Any:
    x, out, kept, *rest = ctx.saved_tensors
    weights, states = rest[: ctx.counts[0]], rest[ctx.counts[0] :]
    wanted = ctx.needs_input_grad[0]
    found = recurrent_backward(x, out if gradient is None else gradient, out, kept, weights, states, wanted, *ctx.form)
    dx, rest = (found[0], found[1:]) if wanted else (None, found)
    return (dx, rest[: ctx.counts[0]], rest[ctx.counts[0] :], *(None for _ in ctx.form))


recurrent_training.register_autograd(_gradients, setup_context=_keep)


def as_one(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `torch.lstm` and its like return, through the one op; None where cuDNN would not take it as it stands."""
    if kwargs or len(args) != 9:
        return None
    x, state, weights, biased, layers, _, _, both, batch_first = args
    states = tuple(state) if isinstance(state, (tuple, list)) else (state,)
    if not isinstance(x, Tensor) or x.dim() != 3 or not isinstance(weights, (list, tuple)):
        return None
    directions, hidden = 2 if both else 1, states[0].shape[-1]
    if len(weights) != layers * directions * (4 if biased else 2) or weights[1].shape[-1] != hidden:
        return None  # an LSTM with projections
    steps = x.transpose(0, 1) if batch_first else x
    form = CELLS[name], hidden, layers, directions
    if torch.is_grad_enabled():
        if torch.is_autocast_enabled("cpu"):
            fmt = torch.get_autocast_dtype("cpu")
            steps, weights, states = steps.to(fmt), [w.to(fmt) for w in weights], tuple(s.to(fmt) for s in states)
        out, _, *last = recurrent_training(steps, list(weights), list(states), *form)
    else:
        out = recurrent(steps, list(weights), *form)
        last = [torch.empty_like(s) for s in states]
    return (out.transpose(0, 1) if batch_first else out, *last[: len(states)])
