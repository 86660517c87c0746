"""`model.to(…)` of weights that hold no data: PyTorch would swap the tensors, which it refuses once anything refers to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

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


@contextmanager
def moving() -> Iterator[None]:
    with replaced(nn.Module, "_apply", _apply):
        yield
