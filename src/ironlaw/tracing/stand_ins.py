"""Typical values for tensors that have none: masks let everything through, ids lie in the vocabulary, weights are as after
initialisation, activations are normal with a spread of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ironlaw.tracing.initialisation import Start, start_of
from ironlaw.tracing.real_tensors import has_values

ROTATION = 10_000.0  # the slowest rotation of positions is so many times the fastest
POOL = 65_537  # values that are drawn for one tensor


@dataclass
class Vocabulary:
    """How many ids there are, and the one that ends a sequence (-1: none)."""

    size: int = 2
    end: int = -1


def vocabulary_of(module: Any) -> Vocabulary:
    config = getattr(module, "config", None)
    config = getattr(config, "text_config", None) or config
    size, end = getattr(config, "vocab_size", None), getattr(config, "eos_token_id", None)
    if not isinstance(size, int):
        size = max((m.num_embeddings for m in module.modules() if isinstance(m, torch.nn.Embedding)), default=2)
    end = end[0] if isinstance(end, (list, tuple)) and end else end
    return Vocabulary(max(2, size), end if isinstance(end, int) and 0 <= end < size else -1)


def normal(shape: tuple[int, ...]) -> Tensor:
    """Normal values; of a large tensor, the same ones over and over, so that drawing them costs next to nothing. Their number is prime: no
    two rows are alike."""
    count = math.prod(shape)
    if count <= POOL:
        return torch.randn(shape)
    return torch.randn(POOL).repeat(-(-count // POOL))[:count].reshape(shape)


def value_of(tensor: Tensor, name: str, role: str, vocabulary: Vocabulary, start: Start | None = None) -> tuple[Tensor, str]:
    """The values, and in words what was drawn. `start`: how its maker filled it, where that is known."""
    if start is not None:
        return start.values(normal(tuple(tensor.shape))).to(tensor.dtype), "weights as after initialisation"
    if role == "weight":
        return weight(tensor, name), "weights as after initialisation"
    if role in ("input", "cache"):
        return given(tensor, name, vocabulary)
    if role == "buffer":
        return buffer(tensor, name), f"the buffer {name}" if name else "a buffer"
    return drawn(tensor), "a result that was not computed"


def given(tensor: Tensor, name: str, vocabulary: Vocabulary) -> tuple[Tensor, str]:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    word = name
    if "mask" in name or dtype == torch.bool:
        return torch.ones(shape, dtype=dtype), f"{word} (all ones)"
    if dtype.is_floating_point or dtype.is_complex:
        return normal(shape).to(dtype), f"{word} (normal values)"
    if "position" in name and shape:
        return torch.arange(shape[-1]).expand(shape).to(dtype), f"{word} (0, 1, 2, …)"
    if "type_id" in name or "segment" in name:
        return torch.zeros(shape, dtype=dtype), f"{word} (zeros)"
    if "length" in name:
        return torch.full(shape, 1, dtype=dtype), f"{word} (ones)"
    ids = torch.randint(0, min(vocabulary.size, 127 if dtype.itemsize == 1 else vocabulary.size), shape).to(dtype)
    if vocabulary.end >= 0 and len(shape) > 1:
        ids[ids == vocabulary.end] = vocabulary.end - 1 if vocabulary.end else 1
        ids[..., -1] = vocabulary.end  # each sequence ends once
    return ids, f"{word} (random ids)"


def weight(tensor: Tensor, name: str) -> Tensor:
    """A matrix keeps the spread of what it is applied to; gains are one, offsets zero."""
    shape = tuple(tensor.shape)
    if len(shape) > 1:
        return normal(shape).mul_(spread(tensor, name)).to(tensor.dtype)
    return (torch.zeros if "bias" in name else torch.ones)(shape).to(tensor.dtype)


def spread(tensor: Tensor, name: str) -> float:
    """The root of the mean square of a matrix of weights: of its values, or of what its maker fills it with."""
    start = start_of(tensor)
    if start is not None:
        return start.size()
    if has_values(tensor):
        return float(tensor.detach().flatten()[:POOL].float().square().mean().sqrt())
    return 1 / math.sqrt(math.prod(tensor.shape[1:]))


def buffer(tensor: Tensor, name: str) -> Tensor:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if "position_ids" in name and shape:
        return torch.arange(shape[-1]).expand(shape).to(dtype)
    if name.endswith("inv_freq") and len(shape) == 1:
        return (ROTATION ** -(torch.arange(shape[0]) / shape[0])).to(dtype)
    if dtype.is_floating_point and not name.endswith(("mean", "bias")):
        return torch.ones(shape, dtype=dtype)
    return torch.zeros(shape, dtype=dtype)


def drawn(tensor: Tensor) -> Tensor:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype) if dtype.is_complex else normal(shape).to(dtype)
    return torch.zeros(shape, dtype=dtype)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Any, causal: bool, traced: str, grouped: bool) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, enable_gqa=grouped)


def rms_norm(x: Tensor, shape: list[int], weight: Any) -> Tensor:
    return functional.rms_norm(x, shape, weight)


# ops of this package that stand for a GPU's kernel
COMPUTED: Mapping[str, Callable[..., Any]] = {"ironlaw::attention": attention, "ironlaw::rms_norm": rms_norm}
