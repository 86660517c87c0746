"""What autograd keeps of an op for the backward pass, in the words that kinds are declared with.

Pairs say what is kept, and for the gradient of which input. An input is its place, "out" the op's output, "second" its second one (a
mask, indices). So a product keeps each factor for the other's gradient, a GELU its input, a softmax its output, an add nothing. What a pair
is kept for must need a gradient: a linear layer keeps its input because its weight is trained; a rotation keeps its cosines and not what it
turns. From PyTorch 2.11, tools/autograd/derivatives.yaml.

Statistics are the small tensors beside the large ones, in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironlaw.engine.arrays import Number, ceil
from ironlaw.engine.device.saving import Saving
from ironlaw.engine.device.types import Tensor

Pairs = tuple[tuple[int | str, int], ...]
PRODUCT: Pairs = ((0, 1), (1, 0))
INPUT: Pairs = ((0, 0),)
OUTPUT: Pairs = (("out", 0),)
SECOND: Pairs = (("second", 0),)
INDICES: Pairs = ((1, 0),)
NORM: Pairs = ((0, 0), (0, 1))
NOTHING: Pairs = ()
Statistics = Callable[[Sequence[Tensor], Sequence[Tensor], Mapping[str, Any], Saving], Number]


def per_row(values: float) -> Statistics:
    """Keeps `values` numbers for each row: a mean and a scale, or the scale alone."""
    return lambda x, y, a, saving: values * (x[0].size / a.get("row", x[0].shape[-1])) * _width(x[0], saving)


def per_group(x: Sequence[Tensor], y: Sequence[Tensor], a: Mapping[str, Any], saving: Saving) -> Number:
    """Mean and scale of each group of each image."""
    return 2.0 * (x[0].shape[0] * a["groups"]) * _width(x[0], saving)


def per_channel(x: Sequence[Tensor], y: Sequence[Tensor], a: Mapping[str, Any], saving: Saving) -> Number:
    """Mean and scale of each channel."""
    return 2.0 * x[0].shape[1] * _width(x[0], saving)


def row_sums(x: Sequence[Tensor], y: Sequence[Tensor], a: Mapping[str, Any], saving: Saving) -> Number:
    """The logarithm of each row's sum, in FP32."""
    batch, heads, seq, _ = x[0].shape
    return 4.0 * batch * heads * (saving.row_tile * ceil(seq / saving.row_tile) if x[0].dtype == "fp32" else seq)


def indices(x: Sequence[Tensor], y: Sequence[Tensor], a: Mapping[str, Any], saving: Saving) -> Number:
    """Where each output came from, in INT64."""
    return 8.0 * y[0].size


def _width(x: Tensor, saving: Saving) -> Number:
    return 4.0 if saving.wide else x.bytes / x.size
