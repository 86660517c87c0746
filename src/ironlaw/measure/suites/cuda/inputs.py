"""Inputs of the sweep on a GPU: activations and cold weights, cut from large buffers of random numbers.

Activations start anew with every case and stay where they are. Weights are walked end to end, so that none is still in the
cache when its turn comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.torch_device import TorchDevice

ELEMENTS = 2**29  # of a buffer: 1 GiB in FP16
SHARE = 32  # a smaller GPU's buffers have one element for so many bytes of its memory
TRIED = 2**20  # of a buffer where there is no GPU, to try the sweep
STEP = 256  # elements between two tensors' beginnings, so that all are aligned


class Pool:
    """Random tensors cut from one buffer for each number format."""

    def __init__(self, elements: int, device: str) -> None:
        self.elements, self.device = elements, device
        self.buffers: dict[Any, Any] = {}
        self.offsets: dict[Any, int] = {}

    def reset(self) -> None:
        """Start over at the buffers' beginning."""
        self.offsets = dict.fromkeys(self.offsets, 0)

    def next(self, shape: Sequence[int], dtype: Any) -> Any:
        """The tensor after the last one; the first again at the end. A buffer too small for it is replaced by one that is not."""
        size = prod(shape)
        if dtype not in self.buffers or size > self.buffers[dtype].numel():
            self.buffers[dtype], self.offsets[dtype] = self.random(max(size, self.elements), dtype), 0
        if self.offsets[dtype] + size > self.buffers[dtype].numel():
            self.offsets[dtype] = 0
        return self.cut(shape, dtype)

    def take(self, shape: Sequence[int], dtype: Any) -> Any:
        """The tensor after the last one; one of its own where the buffer ends."""
        if dtype not in self.buffers:
            self.buffers[dtype], self.offsets[dtype] = self.random(self.elements, dtype), 0
        if self.offsets[dtype] + prod(shape) > self.buffers[dtype].numel():
            return self.random(prod(shape), dtype).view(*shape)
        return self.cut(shape, dtype)

    def cut(self, shape: Sequence[int], dtype: Any) -> Any:
        start, size = self.offsets[dtype], prod(shape)
        self.offsets[dtype] = start + -(-size // STEP) * STEP
        return self.buffers[dtype][start : start + size].view(*shape)

    def random(self, size: int, dtype: Any) -> Any:
        import torch

        if not dtype.is_floating_point and not dtype.is_complex:
            return torch.randint(2 if dtype == torch.bool else 100, (size,), dtype=dtype, device=self.device)
        return torch.empty(size, dtype=dtype, device=self.device).normal_(0, 0.5)


class SweepInputs:
    """What the calls of one sweep work on."""

    def __init__(self, device: str, elements: int = TRIED) -> None:
        self.device = device
        self.activations, self.weights = Pool(elements, device), Pool(elements, device)

    def reset(self) -> None:
        """Before a case: its activations may lie where the last one's did."""
        self.activations.reset()

    def act(self, shape: Sequence[int], dtype: str = "fp16", nhwc: bool = False) -> Any:
        """An activation; `nhwc`: an image whose channels lie innermost."""
        return permuted(self.activations.take, shape, dtype, nhwc)

    def weight(self, shape: Sequence[int], dtype: str = "fp16", nhwc: bool = False) -> Any:
        """The next cold weight."""
        return permuted(self.weights.next, shape, dtype, nhwc)

    def ids(self, count: int, high: int) -> Any:
        """Random integers below `high`."""
        import torch

        return torch.randint(high, (count,), device=self.device)


def permuted(taken: Any, shape: Sequence[int], dtype: str, nhwc: bool) -> Any:
    import torch

    kind = FORMATS[dtype].in_torch(torch)
    if not nhwc:
        return taken(shape, kind)
    n, c, h, w = shape
    return taken((n, h, w, c), kind).permute(0, 3, 1, 2)


def elements_of(device: TorchDevice) -> int:
    """How many elements a buffer has."""
    memory = device.memory()
    return TRIED if memory is None else min(ELEMENTS, memory // SHARE)
