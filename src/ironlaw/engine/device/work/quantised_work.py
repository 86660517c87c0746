"""Products with weights stored in fewer bits than the arithmetic is done in (`engine.device.stored_weights`)."""

from __future__ import annotations

from ironlaw.engine.arrays import Number, minimum
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors, require_equal

kind = Kinds()


@kind("contraction", like="linear", keeps=((1, 0),))
def quantised_linear(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """[…, k] × [n, k]ᵀ with the weight in INT8 or INT4, then its scales (and zeros), then maybe a bias."""
    require_equal(x[0].shape[-1], x[1].shape[-1], "the inner sizes")
    bias = y[0].size if len(x) > 3 else 0.0
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], vector=unpacking(x[1], y[0].size) + bias)


@kind("contraction", like="grouped_matmul")
def quantised_grouped_matmul(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Rows […, k] times [experts, n, k] in INT8 or INT4, then its scales; experts that no row meets are not read."""
    hit = minimum(1.0, x[0].size / x[0].shape[-1] / x[1].shape[0])
    reads = (x[0].bytes, x[1].bytes * hit, x[2].bytes * hit, *(t.bytes for t in x[3:]))
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], vector=unpacking(x[1], y[0].size) * _share(x[1], hit), reads=reads)


def _share(weight: Tensor, hit: Number) -> Number:
    return hit if weight.dtype == "int4" else 1.0


def unpacking(weight: Tensor, outputs: Number) -> Number:
    """Operations that bring the weights back: one per output in INT8, two per weight in INT4."""
    return 2.0 * weight.size if weight.dtype == "int4" else outputs
