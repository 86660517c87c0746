"""Autograd adds up the gradients that reach a tensor over several ways, in the memory of the first where nothing else holds that.

It does not while a dispatch mode is watching, so the recorder does what it would do otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ironlaw.tracing.memory_layout import dense

ADD, ADD_TO = torch.ops.aten.add.Tensor, torch.ops.aten.add_.Tensor


class GradientSums:
    def __init__(self) -> None:
        self.nodes: dict[int, int] = {}  # storage -> the node of autograd that wrote it first
        self.alone = alone()

    def made(self, place: int) -> None:
        node = torch._C._current_autograd_node()  # type: ignore[attr-defined]
        if node is not None:
            self.nodes.setdefault(place, node._sequence_nr())

    def in_place(self, args: Any) -> bool:
        """Whether an addition is autograd's own, of a new gradient to one that it alone holds; a formula's own adds up what it made."""
        node = torch._C._current_autograd_node()  # type: ignore[attr-defined]
        if node is None or torch.is_grad_enabled() or not all(isinstance(t, Tensor) and t.layout == torch.strided for t in args):
            return False
        first, second = args
        if holders(first) != self.alone or first.shape != second.shape or first.dtype != second.dtype:
            return False
        place = first.untyped_storage()._cdata
        return self.nodes.get(place, node._sequence_nr()) != node._sequence_nr() and dense(first)


def holders(tensor: Tensor) -> tuple[int, int]:
    """How many hold the tensor, and its storage."""
    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)  # type: ignore[attr-defined]


class Probe(TorchDispatchMode):
    seen = (0, 0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is ADD:
            self.seen = holders(args[0])
        return func(*args, **(kwargs or {}))


@cache
def alone() -> tuple[int, int]:
    """What `holders` says of a gradient that autograd alone holds, as a mode sees it."""
    with torch.enable_grad():
        x = torch.zeros(2, requires_grad=True)
        y = x.sin() + x.cos()
        with Probe() as probe:
            y.backward(torch.ones(2))
    return probe.seen
