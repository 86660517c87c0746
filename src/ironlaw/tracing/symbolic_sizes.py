"""Results whose size lies in values, of tensors too large to work the values out: half of a mask is taken to pass, and every value to
differ from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


def places(x: Tensor) -> tuple[Any, str]:
    count = max(1, x.numel() // 2)
    return torch.empty(count, x.dim(), dtype=torch.long), f"half of {x.numel():,} elements pass, all at most"


def chosen(x: Tensor, mask: Tensor) -> tuple[Any, str]:
    count = torch.broadcast_shapes(x.shape, mask.shape).numel()
    return x.new_empty(max(1, count // 2)), f"half of {count:,} elements pass, all at most"


def indexed(x: Tensor, indices: Any) -> tuple[Any, str]:
    """`x[mask]`; other forms raise."""
    (mask,) = indices
    if mask.dtype != torch.bool:
        raise NotImplementedError("only masks have a size that lies in values")
    return x.new_empty(max(1, mask.numel() // 2), *x.shape[mask.dim() :]), f"half of {mask.numel():,} elements pass, all at most"


def distinct(x: Tensor, *settings: Any) -> tuple[Any, str]:
    numbers = torch.empty(x.shape, dtype=torch.long)
    return (x.new_empty(x.numel()), numbers, numbers.flatten()), f"{x.numel():,} values all differ"


SIZES: Mapping[str, Callable[..., tuple[Any, str]]] = {
    "aten::nonzero": places,
    "aten::masked_select": chosen,
    "aten::index": indexed,
    "aten::_unique2": distinct,
}
