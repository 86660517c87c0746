"""The same call at another batch or length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.tracing.target import Target, changed, empty, tensors_in


def _tensors(target: Target) -> list[Any]:
    return [leaf for leaf in tensors_in((target.args, target.kwargs)) if leaf.dim()]


def batch_of(target: Target) -> int | None:
    """The first size of the first input; None where the call takes no tensor with one."""
    inputs = _tensors(target)
    return int(inputs[0].shape[0]) if inputs else None


def tokens_of(target: Target) -> int | None:
    """The length of the sequence, where all that goes in are token ids [batch, tokens]."""
    inputs = _tensors(target)
    ids = bool(inputs) and all(t.dim() == 2 and not t.is_floating_point() and t.shape == inputs[0].shape for t in inputs)
    return int(inputs[0].shape[1]) if ids else None


def positions_of(target: Target) -> int | None:
    """The longest sequence that the model's own configuration allows."""
    config = getattr(target.call, "config", None)
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        value = getattr(config, name, None)
        if isinstance(value, int):
            return value
    return None


def resized(target: Target, batch: int | None = None, tokens: int | None = None) -> Target:
    """Every input with another first size, or another second one; only shapes, no values."""

    def change(leaf: Any) -> Any:
        if not leaf.dim():
            return leaf
        shape = list(leaf.shape)
        shape[0] = batch or shape[0]
        if tokens:
            shape[1] = tokens
        return empty(shape, leaf.dtype)

    args, kwargs = changed((target.args, target.kwargs), change)
    return replace(target, args=args, kwargs=kwargs)
