"""`model.to(…)` and `deepcopy(model)` of weights that hold no data. PyTorch would swap the tensors, which it refuses once anything refers
to them, and copies no tensor of this kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

from ironlaw.tracing.libraries import replaced


def _apply(self: nn.Module, fn: Callable[[Any], Any], recurse: bool = True) -> nn.Module:
    for child in self.children() if recurse else ():
        child._apply(fn)
    for name, weight in self._parameters.items():
        if weight is None:
            continue
        with torch.no_grad():
            other = fn(weight)
            gradient = fn(weight.grad) if weight.grad is not None else None
        if other is weight:
            continue
        if other.device.type == weight.device.type:
            weight.data = other.detach()
            if gradient is not None:
                weight.grad = gradient.detach()
        else:  # to the meta device, or from there
            self._parameters[name] = nn.Parameter(other.detach(), weight.requires_grad)
    for name, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[name] = fn(buffer)
    return self


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """Copies a model, for an average of its weights, say."""
    if id(self) not in memo:
        with torch.no_grad():
            other = self.detach().clone()
        memo[id(self)] = nn.Parameter(other, self.requires_grad) if isinstance(self, nn.Parameter) else other
    return memo[id(self)]


@contextmanager
def moving() -> Iterator[None]:
    start = nn.Module.to

    def to(self: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        return start(self, *map(named, args), **{name: named(value) for name, value in kwargs.items()})

    with (
        replaced(nn.Module, "_apply", _apply),
        replaced(nn.Module, "to", to),
        replaced(FakeTensor, "__deepcopy__", _deepcopy),
    ):
        yield


def named(value: Any) -> Any:
    """A GPU that is given by its number."""
    return torch.device("cuda", value) if type(value) is int else value
