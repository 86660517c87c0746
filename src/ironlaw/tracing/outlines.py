"""Products that are too much work to compute, in outline: what random weights make of their input, at the cost of moving it.

A random projection keeps how large results are and how alike two rows stay, which is what decides where tokens are routed and how many
boxes pass. Each column is the signed sum of two columns of the input, with the spread that the weights would give it. Attention with
weights as after initialisation is close to a plain mean over what it may see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ironlaw.tracing.stand_ins import POOL, normal

PRIME = 40_503
TAPS = 2


class Weight(NamedTuple):
    """A weight that is not drawn: its spread and where its random numbers begin."""

    spread: float
    seed: int


@lru_cache(maxsize=256)
def taps(width: int, columns: int, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """For each column, the elements that it reads and their signs."""
    source = torch.Generator().manual_seed(seed)
    places = [torch.randint(width, (columns,), generator=source) for _ in range(TAPS)]
    signs = [torch.randint(2, (columns,), generator=source) * 2.0 - 1.0 for _ in range(TAPS)]
    return places, signs


def projected(x: Tensor, columns: int, weight: Weight, terms: int | None = None) -> Tensor:
    """`x` times a matrix of so many columns. `terms`: how many products a result sums, where that is more than x is wide."""
    places, signs = taps(x.shape[-1], columns, weight.seed)
    whole = sum(x[..., p].float() * s for p, s in zip(places, signs, strict=True))
    return torch.as_tensor(whole) * (weight.spread * math.sqrt((terms or x.shape[-1]) / TAPS))


def product(out: Tensor, weight: Weight, x: Tensor, w: Any) -> Tensor:
    return projected(x, out.shape[-1], weight)


def biased_product(out: Tensor, weight: Weight, bias: Tensor, x: Tensor, w: Any, **scales: Any) -> Tensor:
    return projected(x, out.shape[-1], weight) + bias.float()


def grouped(out: Tensor, weight: Weight, x: Tensor, w: Any, offs: Tensor, *rest: Any) -> Tensor:
    """Rows up to each offset meet a matrix of their own."""
    made, start = torch.zeros(out.shape), 0
    for number, end in enumerate(offs.tolist()):
        made[start:end] = projected(x[start:end], out.shape[-1], Weight(weight.spread, weight.seed + number))
        start = max(start, end)
    return made


def convolution(out: Tensor, weight: Weight, x: Any, w: Tensor, bias: Tensor | None, *rest: Any) -> Tensor:
    """Assumes an input with a spread of one, as norms keep it: following large images back to the first layer would take too long."""
    terms = w.numel() // max(w.shape[0], 1)
    made = normal(tuple(out.shape)) * (weight.spread * math.sqrt(terms))
    return made if bias is None else made + bias.float().view(-1, *(1,) * (out.dim() - 2))


def embedding(out: Tensor, weight: Weight, w: Any, ids: Tensor, *rest: Any) -> Tensor:
    """Equal ids have equal rows."""
    pool = torch.randn(POOL, generator=torch.Generator().manual_seed(weight.seed))
    return pool[(ids[..., None] * PRIME + torch.arange(out.shape[-1])) % POOL] * weight.spread


def attention(out: Tensor, weight: None, q: Tensor, k: Tensor, v: Tensor, mask: Any, causal: bool, traced: bool, grouped: bool) -> Tensor:
    values = v.float()
    if values.shape[-3:-2] != q.shape[-3:-2] and v.dim() > 2:
        values = values.repeat_interleave(q.shape[-3] // v.shape[-3], -3)
    if not causal:
        return values.mean(-2, keepdim=True).expand(out.shape)
    seen = torch.arange(1, values.shape[-2] + 1, device=v.device)[:, None]
    return (values.cumsum(-2) / seen)[..., : out.shape[-2], :].expand(out.shape)


class Outline(NamedTuple):
    """How a call is outlined, which argument is the weight (None: there is none), and which are read (None: all others)."""

    make: Callable[..., Tensor]
    weight: int | None
    read: tuple[int, ...] | None = None


OUTLINES: Mapping[str, Outline] = {
    "aten::mm": Outline(product, 1),
    "aten::bmm": Outline(product, 1),
    "aten::addmm": Outline(biased_product, 2),
    "aten::convolution": Outline(convolution, 1, (2,)),
    "aten::_grouped_mm": Outline(grouped, 1),
    "aten::embedding": Outline(embedding, 0),
    "ironlaw::attention": Outline(attention, None),
}
