"""What a tensor is to the recorder: its number format, its elements, whether anybody knows its values."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from ironlaw.engine.device import types
from ironlaw.formats import of_torch
from ironlaw.tracing.real_tensors import as_plain

OURS = ("aten", "prims", "ironlaw", "quantized", "quantized_decomposed", "_c10d_functional", "c10d")  # whose names the tables hold


def rule_of(func: Any, name: str, tensors_in: list[Tensor], tensors_out: list[Tensor]) -> str:
    """Which rule of the tables says what a call does."""
    if tensors_in and not any(t.numel() for t in tensors_in):
        return "full"  # a sum over nothing, say
    if any(t.layout != torch.strided for t in (*tensors_in, *tensors_out)):
        return f"sparse::{name}"
    return name if func.namespace in OURS else f"{func.namespace}::{name}"


def stored_once(tensor: Tensor, plain: types.Tensor) -> types.Tensor:
    """An expanded axis is stored once."""
    if tensor.layout != torch.strided or 0 not in tensor.stride():
        return plain
    shape = tuple(1 if stride == 0 else size for size, stride in zip(plain.shape, tensor.stride(), strict=True))
    return types.Tensor(plain.name, shape, plain.dtype, plain.role)


def in_place(*_: Any) -> None:
    """A call on lists of tensors that writes into them and returns nothing."""


def unknown(tensor: Tensor) -> bool:
    """Whether it is a fake one, and none whose number PyTorch remembers."""
    return isinstance(tensor, FakeTensor) and tensor.constant is None


def on_meta(tensor: Tensor) -> bool:
    """Whether it lies on the meta device and is neither fake nor spread over ranks; the parts of such a tensor are asked on their own."""
    return not isinstance(tensor, FakeTensor) and tensor.device.type == "meta" and not hasattr(tensor, "_local_tensor")


@cache
def spread(kind: type) -> bool:
    """Whether tensors of a class are spread over ranks."""
    return kind.__name__ == "DTensor"


def sparse_elements(tensor: Tensor) -> int:
    """How many values its values and indices together are worth."""
    with as_plain():
        if tensor.layout == torch.sparse_coo:
            values, indices = tensor._values(), [tensor._indices()]
        else:
            by_row = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
            indices = [tensor.crow_indices(), tensor.col_indices()] if by_row else [tensor.ccol_indices(), tensor.row_indices()]
            values = tensor.values()
        moved = values.nbytes + sum(i.nbytes for i in indices)
        return max(1, -(-moved // tensor.dtype.itemsize))


@cache
def format_of(dtype: torch.dtype) -> str:
    return of_torch(str(dtype).removeprefix("torch."), dtype.itemsize)
