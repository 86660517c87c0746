"""How tensors lie in memory: whether their channels lie innermost, and whether an op reads them in the order in which it writes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format


def last_channels(tensor: Any) -> bool:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return (
        tensor.dim() in formats
        and tensor.shape[1] > 1
        and tensor.is_contiguous(memory_format=formats[tensor.dim()])
        and not tensor.is_contiguous()
    )


def convolves_last(image: Any, weight: Any) -> bool:
    """Whether PyTorch runs a convolution with the channels innermost (`cudnn_conv_suggest_memory_format`): where the strides of its image,
    or those of its weight, are in that order. They need not be dense: a slice of tokens turned into an image is copied so first."""
    return any(t.dim() in (4, 5) and t.shape[1] > 1 and _in_order(t) for t in (image, weight))


def _in_order(t: Any) -> bool:
    return suggest_memory_format(t) != torch.contiguous_format and not t.is_contiguous()


def strided(inputs: list[Tensor], outputs: list[Tensor]) -> dict[str, Any]:
    """Whether it reads something that does not lie in memory as what it writes does: one layout throughout is as good as
    contiguous, channels last too. Worst is an input whose neighbours in memory lie along another axis than the output's.
    """
    if all(t.dim() != 4 or last_channels(t) or t.numel() == t.shape[1] for t in (*inputs, *outputs)) and any(t.dim() == 4 for t in outputs):
        return {}
    many = [t for t in inputs if t.dim() and t.numel() > 1]
    if all(t.is_contiguous() for t in many):
        return {}
    if outputs and all(t.shape == outputs[0].shape and t.stride() == outputs[0].stride() and dense(t) for t in many):
        return {}
    out = nearest(outputs[0]) if outputs else -1
    across = any(t.shape == outputs[0].shape and nearest(t) != out for t in many) if outputs else False
    return {"strided": "columns" if across else True}


def dense(t: Tensor) -> bool:
    """Has no gaps or repetitions: the elements fill their memory in some order of the axes."""
    filled = 1
    for size, stride in sorted(((size, stride) for size, stride in zip(t.shape, t.stride(), strict=True) if size > 1), key=lambda p: p[1]):
        if stride != filled:
            return False
        filled *= size
    return True


def nearest(t: Tensor) -> int:
    """The axis along which neighbours lie nearest to each other in memory."""
    long = [axis for axis in range(t.dim()) if t.shape[axis] > 1 and t.stride(axis) > 0]
    return min(long, key=lambda axis: (t.stride(axis), -axis), default=-1)
