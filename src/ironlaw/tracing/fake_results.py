"""Layers repeat, and so do their calls: what a call on tensors of the same shapes gave is made again without asking PyTorch.

FakeTensorMode has such a cache too; its keys cover far more cases than a model on one device meets, and most of a capture went into
making them. Only calls that return one tensor and write nothing are kept; all others go on. Autograd, above this, sees no difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch

CPU = torch.device("cpu")
PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.memory_format, torch.layout)


class FakeResult(NamedTuple):
    """What comes out, and of which argument it is a view (-1: of none)."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    view_of: int


def key_of(value: Any) -> Any:
    """A key for an argument; raises where it has none."""
    if isinstance(value, Tensor):
        if type(value) is not FakeTensor or value.constant is not None or value.layout != torch.strided:
            raise TypeError
        if value.is_conj() or value.is_neg():
            raise TypeError
        return (tuple(value.shape), value.stride(), value.storage_offset(), value.dtype)
    if isinstance(value, (list, tuple)):
        return tuple(map(key_of, value))
    if isinstance(value, PLAIN):
        return (type(value), value)
    raise TypeError


class FakeResultCache:
    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.known: dict[Any, FakeResult] = {}
        with no_dispatch():
            first = FakeTensor(mode, torch.empty(0, device="meta"), CPU)
        self.attributes = dict(vars(first))  # of every fake tensor of this mode that nothing is known of

    def __call__(self, func: Any, args: Any, kwargs: Any, tensors_in: list[Tensor]) -> Any:
        try:
            key = (func, tuple(map(key_of, args)), tuple((name, key_of(value)) for name, value in kwargs.items()))
            result = self.known.get(key)
        except TypeError:
            return func(*args, **kwargs)
        if result is not None:
            return self.again(result, tensors_in)
        out = func(*args, **kwargs)
        if type(out) is FakeTensor and out.fake_mode is self.mode and out.constant is None and out.device.type == "cpu":
            place = out.untyped_storage()._cdata
            view_of = next((i for i, t in enumerate(tensors_in) if t.untyped_storage()._cdata == place), -1)
            self.known[key] = FakeResult(tuple(out.shape), out.stride(), int(out.storage_offset()), out.dtype, view_of)
        return out

    def again(self, result: FakeResult, tensors_in: list[Tensor]) -> FakeTensor:
        with no_dispatch():
            bare = torch.empty_strided(result.shape, result.stride, dtype=result.dtype, device="meta")
            if result.view_of >= 0:
                bare.set_(tensors_in[result.view_of].untyped_storage(), result.offset, result.shape, result.stride)
            return self.of(bare)

    def like(self, tensor: Tensor) -> FakeTensor:
        """A tensor of the same form, with memory of its own."""
        with no_dispatch():
            return self.of(torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta"))

    def holding(self, number: Tensor) -> FakeTensor:
        """One whose value PyTorch knows, until something is written to it."""
        fake = self.like(number)
        fake.constant = number
        self.mode.fake_tensor_converter.add_constant_storage_mapping(fake)
        return fake

    def of(self, bare: Tensor) -> FakeTensor:
        """Around a tensor on the meta device."""
        fake = Tensor._make_subclass(FakeTensor, bare, False, dispatch_device=True, device_for_backend_keys=CPU)  # type: ignore
        torch._C._set_throw_on_mutable_data_ptr(fake)  # type: ignore[attr-defined]  # as FakeTensor's constructor does, which is slow
        vars(fake).update(self.attributes)
        return fake
