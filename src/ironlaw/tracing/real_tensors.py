"""Real tensors in the place of fake ones: laid out alike, computed on this machine's processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

MOST_ELEMENTS = 1 << 26  # of one tensor that is computed for real


def on_processor(func: Any, args: Any, kwargs: Any, wide: bool = False) -> Any:
    """What a call gives here. In FP32 where that is `wide`r than asked for: products in half precision are slow on a processor, and some
    kernels that a GPU has in half precision it has not."""
    halves = {t.dtype for t in leaves_of((args, kwargs))} & {torch.float16, torch.bfloat16}
    if not wide or len(halves) != 1:
        try:
            return func(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            if len(halves) != 1:
                raise
    args, kwargs = pytree.tree_map_only(Tensor, lambda t: t.float() if t.dtype in halves else t, (args, kwargs))
    half = halves.pop()
    return pytree.tree_map_only(Tensor, lambda t: t.to(half) if t.dtype == torch.float32 else t, func(*args, **kwargs))


def laid_out(fake: Tensor, real: Tensor) -> Any:
    """The values in memory as the fake tensor lies there."""
    if tuple(fake.shape) != tuple(real.shape):
        raise ValueError(f"{tuple(real.shape)} where {tuple(fake.shape)} was expected")
    size = int(fake.untyped_storage().nbytes())
    filled = size == fake.numel() * fake.element_size()
    storage = (torch.empty if filled else torch.zeros)(size, dtype=torch.uint8).untyped_storage()
    whole = torch.empty(0, dtype=fake.dtype).set_(storage, int(fake.storage_offset()), tuple(fake.shape), fake.stride())
    whole.copy_(real.resolve_conj())
    return storage


def has_values(tensor: Tensor) -> bool:
    return tensor.device.type != "meta" and not isinstance(tensor, FakeTensor)


def small(tensor: Tensor) -> bool:
    return tensor.layout != torch.strided or int(tensor.untyped_storage().nbytes()) <= 4 * MOST_ELEMENTS


def leaves_of(out: Any) -> list[Tensor]:
    return [t for t in pytree.tree_leaves(out) if isinstance(t, Tensor)]


def name_of(func: Any) -> str:
    """`aten::add` of aten.add_.Tensor; a kernel without an operator is nameless."""
    return "a kernel" if func is None else str(func._schema.name).rstrip("_")


@contextmanager
def as_plain() -> Iterator[None]:
    """Leaves every mode: no fakes, no recorder, no autocast, no gradients."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch._C._DisableAutocast(), torch.no_grad():
        yield
