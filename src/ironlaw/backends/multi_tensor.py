"""PyTorch's multi_tensor_apply: a list of tensors in one call, several lists side by side, a few launches in all."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.arrays import Number, ceil, maximum
from ironlaw.engine.device.types import Tensor

MOST_TENSORS = (110, 64, 48, 36, 30)  # in one launch, by lists that go together
MOST_ELEMENTS = 320 * 65536.0  # in one launch: blocks, and elements of each


def list_launches(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Number:
    """Launches that a call over lists takes; as many outputs as one list has tensors."""
    if not outputs:
        return 0.0
    at_once = MOST_TENSORS[min(max(len(inputs) // len(outputs), 1), len(MOST_TENSORS)) - 1]
    return ceil(maximum(len(outputs) / at_once, sum(t.size for t in outputs) / MOST_ELEMENTS))
