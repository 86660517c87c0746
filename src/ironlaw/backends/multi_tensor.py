"""PyTorch's multi_tensor_apply: a list of tensors in one call, several lists side by side, a few launches in all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ironlaw.engine.arrays import Number, ceil, is_array, maximum
from ironlaw.engine.device.types import Tensor

MOST_TENSORS = (110, 64, 48, 36, 30)  # in one launch, by lists that go together
BLOCK_ELEMENTS = 65536.0  # that a block goes through
MOST_BLOCKS = 320  # in one launch


def list_launches(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Number:
    """Launches that a call over lists takes; as many outputs as one list has tensors."""
    if not outputs:
        return 0.0
    at_once = MOST_TENSORS[min(max(len(inputs) // len(outputs), 1), len(MOST_TENSORS)) - 1]
    sizes = [t.size for t in outputs]
    if is_array(*sizes):
        return ceil(maximum(len(sizes) / at_once, sum(sizes) / (MOST_BLOCKS * BLOCK_ELEMENTS)))
    return _filled(sizes, at_once)


def _filled(sizes: Sequence[float], at_once: int) -> float:
    """A launch takes tensors one after the other until it has as many as it can hold, or as many blocks; the rest of a tensor goes on."""
    launches, tensors, blocks = 0, 0, 0
    for size in sizes:
        tensors, left = tensors + 1, math.ceil(size / BLOCK_ELEMENTS)
        while left:
            taken = min(left, MOST_BLOCKS - blocks)
            blocks, left = blocks + taken, left - taken
            if blocks == MOST_BLOCKS or (not left and tensors == at_once):
                launches, blocks, tensors = launches + 1, 0, 1 if left else 0
    return float(launches + (1 if blocks else 0))
