"""Layers repeat, and so do their calls: what a call on tensors of the same shapes gave is made again without asking PyTorch.

FakeTensorMode has such a cache too; its keys cover far more cases than a model on one device meets, and most of a capture went into
making them. Calls are kept that return new tensors or views, and those that write into their first argument and hand it back; all others
go on. Autograd, above this, sees no difference. Later captures of one process find what earlier ones did.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

CPU, META = torch.device("cpu"), torch.device("meta")
Undispatched = torch._C._DisableTorchDispatch  # while one of these lives, no mode sees a call; `no_dispatch` makes a generator each time
GIVEN = "given"
MOST = 1 << 17  # calls that are kept
PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.memory_format, torch.layout)


class FakeResult(NamedTuple):
    """What comes out, and of which argument it is a view (-1: of none)."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    view_of: int


_known: dict[Any, dict[Any, tuple[Any, list[FakeResult]]]] = {}  # by the default format: what a call gave, by its key


def shared() -> dict[Any, tuple[Any, list[FakeResult]]]:
    """What earlier captures have found out, as far as it holds now."""
    if sum(map(len, _known.values())) > MOST:
        _known.clear()
    return _known.setdefault((torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()), {})


def key_of(value: Any) -> Any:
    """A key for an argument; raises where it has none."""
    kind = type(value)
    if kind is FakeTensor:
        if value.constant is not None or value.layout is not torch.strided:
            raise TypeError
        if value.is_conj() or value.is_neg() or value.fake_device != CPU:  # on the meta device, say
            raise TypeError
        return (value.shape, value.stride(), value.storage_offset(), value.dtype)
    if kind is list or kind is tuple:
        return tuple(map(key_of, value))
    if isinstance(value, PLAIN):
        return (kind, value)
    if isinstance(value, (list, tuple)):
        return tuple(map(key_of, value))
    raise TypeError


class FakeResultCache:
    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.known = shared()  # what holds several results (GIVEN: the first argument, written to), and each of them
        guard = Undispatched()  # type: ignore[no-untyped-call]
        first = FakeTensor(mode, torch.empty(0, device="meta"), CPU)
        del guard
        self.attributes = dict(vars(first))  # of every fake tensor of this mode that nothing is known of

    def written(self, func: Any, args: Any, kwargs: Any, tensors_in: list[Tensor]) -> Any:
        """The same of a call that writes: once it has handed back its first argument as it was, only values differ."""
        try:
            key = (func, tuple(map(key_of, args)), tuple([(name, key_of(value)) for name, value in kwargs.items()]))
            known = self.known.get(key)
        except TypeError:
            return func(*args, **kwargs)
        if known is not None:
            return args[0]
        place = tensors_in[0].untyped_storage()._cdata
        out = func(*args, **kwargs)
        if out is args[0] and key_of(out) == key[1][0] and place == out.untyped_storage()._cdata:
            self.known[key] = GIVEN, []
        return out

    def __call__(self, func: Any, args: Any, kwargs: Any, tensors_in: list[Tensor]) -> Any:
        try:
            key = (func, tuple(map(key_of, args)), tuple([(name, key_of(value)) for name, value in kwargs.items()]))
            known = self.known.get(key)
        except TypeError:
            return func(*args, **kwargs)
        if known is not None:
            kind, results = known
            return self.again(results[0], tensors_in) if kind is None else kind([self.again(one, tensors_in) for one in results])
        out = func(*args, **kwargs)
        several = type(out) if type(out) in (list, tuple) else None
        made = [out] if several is None else list(out)
        if made and all(map(self.plain, made)):
            places = [t.untyped_storage()._cdata for t in tensors_in]
            own = [t.untyped_storage()._cdata for t in made]
            views = [places.index(place) if place in places else -1 for place in own]
            if len({place for place in own if place not in places}) == views.count(-1):  # each new one in memory of its own
                forms = [
                    FakeResult(tuple(t.shape), t.stride(), int(t.storage_offset()), t.dtype, view)
                    for t, view in zip(made, views, strict=True)
                ]
                self.known[key] = several, forms
        return out

    def plain(self, out: Any) -> bool:
        """Whether a result is a tensor that can be made again."""
        return type(out) is FakeTensor and out.fake_mode is self.mode and out.constant is None and out.device.type == "cpu"

    def again(self, result: FakeResult, tensors_in: list[Tensor]) -> FakeTensor:
        guard = Undispatched()  # type: ignore[no-untyped-call]
        bare = torch.empty_strided(result.shape, result.stride, dtype=result.dtype, device=META)
        if result.view_of >= 0:
            bare.set_(tensors_in[result.view_of].untyped_storage(), result.offset, result.shape, result.stride)
        fake = self.of(bare)
        del guard
        return fake

    def like(self, tensor: Tensor) -> FakeTensor:
        """A tensor of the same form, with memory of its own."""
        guard = Undispatched()  # type: ignore[no-untyped-call]
        fake = self.of(torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta"))
        del guard
        return fake

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
