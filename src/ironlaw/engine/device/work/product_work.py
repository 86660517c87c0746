"""Contractions and attention: matrix products under their several names."""

from __future__ import annotations

from ironlaw.engine.arrays import Number, minimum
from ironlaw.engine.device.types import FORMATS
from ironlaw.engine.device.work.keeping import PRODUCT, row_sums
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors, require_equal

kind = Kinds()


@kind("contraction", "matmul", keeps=PRODUCT, narrows=True)
@kind("contraction", "bmm")
def matmul(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """[…, m, k] × […, k, n]: 2·m·n·k for each matrix of the batch."""
    require_equal(x[0].shape[-1], x[1].shape[-2], "the inner sizes")
    return Count(matmul=2.0 * y[0].size * x[0].shape[-1])


@kind("contraction", keeps=PRODUCT, narrows=True)
def linear(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """[…, k] × [n, k]ᵀ (+ bias): 2·m·n·k, and one add per output where there is a bias."""
    require_equal(x[0].shape[-1], x[1].shape[-1], "the inner sizes")
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], vector=y[0].size if len(x) > 2 else 0.0)


@kind("contraction", keeps=PRODUCT, narrows=True)
def conv2d(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Each output takes (C/groups)·kh·kw multiply-adds; the weight is [out, C/groups, kh, kw]."""
    _, per_group, kh, kw = x[1].shape
    groups = a.get("groups") or x[0].shape[1] // per_group
    require_equal(x[0].shape[1], per_group * groups, "the channels of input and weight")
    return Count(matmul=y[0].size * (2.0 * per_group * kh * kw), vector=y[0].size if len(x) > 2 else 0.0)


@kind("contraction")
def conv_transpose2d(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Each input meets (out/groups)·kh·kw weights; the weight is [C, out/groups, kh, kw]."""
    _, per_group, kh, kw = x[1].shape
    return Count(matmul=x[0].size * (2.0 * per_group * kh * kw), vector=y[0].size if len(x) > 2 else 0.0)


@kind("contraction", keeps=PRODUCT, narrows=True)
def grouped_matmul(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Rows […, k], sorted by expert, times [experts, n, k]: each row meets one expert's matrix.

    Rows spread evenly: with fewer rows than experts, only the matrices that are hit are read.
    """
    rows = x[0].size / x[0].shape[-1]
    hit = minimum(1.0, rows / x[1].shape[0])
    reads = (x[0].bytes, x[1].bytes * hit, *(t.bytes for t in x[2:]))
    return Count(matmul=2.0 * y[0].size * x[1].shape[-1], reads=reads)


def conv2d_shape(
    x: tuple[Number, ...], out: int, kernel: tuple[int, int], stride: int = 1, padding: tuple[int, int] = (0, 0), dilation: int = 1
) -> tuple[Number, ...]:
    """[n, c, h, w] -> the shape after a convolution or a pooling window."""
    height, width = ((size + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for size, k, pad in zip(x[2:], kernel, padding, strict=True))
    return (x[0], out, height, width)


@kind("attention", keeps=((0, 0), (1, 0), (2, 0), ("out", 0)), statistics=row_sums, narrows=True)
def attention(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """softmax(QKᵀ)V with q [b, h, s, d], k and v [b, h_kv, t, d]; two matmuls of 2·b·h·s·t·d each.

    tiled (flash): the s×t scores never leave the chip. naive: QKᵀ writes them, softmax reads and writes, PV reads,
    so traffic is (1 + s/d) times the tiled one for s = t. A causal mask is counted in full, as PyTorch does.
    """
    q, k, v = x[0], x[1], x[2]
    scores = q.size / q.shape[-1] * k.shape[-2]
    both = 2.0 * scores * (q.shape[-1] + v.shape[-1])
    naive = a.get("impl", "flash") == "naive"
    scratch = 2.0 * scores * FORMATS[q.dtype] if naive else 0.0
    return Count(matmul=both, vector=5.0 * scores, scratch=scratch, launches=3.0 if naive else 1.0)
