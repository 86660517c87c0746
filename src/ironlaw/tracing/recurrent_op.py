"""LSTM, GRU and plain recurrent layers as one op, as cuDNN takes them; where gradients are asked for, and in the odd forms
(packed sequences, projections, dropout in training), PyTorch's own steps are recorded one by one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CELLS = {"lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn", "rnn_relu": "rnn"}


@torch.library.custom_op("ironlaw::recurrent", mutates_args=())
def recurrent(x: Tensor, weights: list[Tensor], cell: str, hidden: int, layers: int, directions: int) -> Tensor:
    raise NotImplementedError("only ever run on fake tensors")


@recurrent.register_fake
def _(x: Tensor, weights: list[Tensor], cell: str, hidden: int, layers: int, directions: int) -> Tensor:
    return x.new_empty((*x.shape[:2], hidden * directions))


def as_one(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `torch.lstm` and its like return, through the one op; None where cuDNN would not take it as it stands."""
    if kwargs or len(args) != 9 or torch.is_grad_enabled():
        return None
    x, state, weights, biased, layers, dropout, training, both, batch_first = args
    states = tuple(state) if isinstance(state, (tuple, list)) else (state,)
    if not isinstance(x, Tensor) or x.dim() != 3 or not isinstance(weights, (list, tuple)) or (training and dropout):
        return None
    directions, hidden = 2 if both else 1, states[0].shape[-1]
    if len(weights) != layers * directions * (4 if biased else 2) or weights[1].shape[-1] != hidden:
        return None  # an LSTM with projections
    steps = x.transpose(0, 1) if batch_first else x
    out = recurrent(steps, list(weights), CELLS[name], hidden, layers, directions)
    last = tuple(torch.empty_like(s) for s in states)
    return (out.transpose(0, 1) if batch_first else out, *last)
