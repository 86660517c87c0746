"""Op kinds of a training step that are not the forward kinds over again, and what is known only by its tensors.

A gradient of an element-wise op is element-wise, that of a matrix product is two matrix products: PyTorch runs those as
such. These are its kernels that do more in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.engine.arrays import ceil, maximum
from ironlaw.engine.lowering import LOWER, Kernel
from ironlaw.engine.types import Op
from ironlaw.engine.work import Count, Tensors, kind

MOST_TENSORS = (110, 64, 48, 36, 30)  # of PyTorch's multi_tensor_apply, by lists taken together
BLOCKS = 320 * 65536.0  # elements


@kind("contraction")
def conv_transpose2d(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Each input meets (out/groups)·kh·kw weights; the weight is [C, out/groups, kh, kw]."""
    _, per_group, kh, kw = x[1].shape
    return Count(matmul=x[0].size * (2.0 * per_group * kh * kw), vector=y[0].size if len(x) > 2 else 0.0)


@kind("contraction")
def conv_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: gradient, input, weight. One convolution's arithmetic for each gradient that is `wanted`, of input and weight."""
    _, per_group, kh, kw = x[2].shape
    return Count(matmul=x[0].size * (2.0 * per_group * kh * kw) * a["wanted"], launches=1.0 * a["wanted"])


@kind("attention")
def attention_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: gradient, q, k, v, output. Five matrix products: the scores once more, then dV, dP, dQ and dK."""
    q, k, v = x[1], x[2], x[3]
    scores = q.size / q.shape[-1] * k.shape[-2]
    both = 2.0 * scores * (3.0 * q.shape[-1] + 2.0 * v.shape[-1])
    return Count(matmul=both, vector=8.0 * scores)


@kind("rowwise")
def norm_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Normalise again (2), gain (1), two row sums (3), combine (3), sums for gain and shift (3): 12 an element."""
    return Count(vector=12.0 * x[0].size, launches=2.0)


@kind("elementwise")
def foreach(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """One operation an element over a whole list of tensors, as optimisers do. A launch takes so many tensors and blocks."""
    size = sum(t.size for t in y)
    at_once = MOST_TENSORS[min(max(len(x) // len(y), 1), len(MOST_TENSORS)) - 1]
    return Count(vector=1.0 * size, launches=ceil(maximum(len(y) / at_once, size / BLOCKS)))


@kind("opaque")
def unknown(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Nothing is known of what it does: each tensor once, no arithmetic."""
    return Count()


# ---- the kernels behind them on a CUDA device


def lower_conv(op: Op) -> Sequence[Kernel]:
    """A convolution for each gradient that is wanted, and a conversion of layout for each of its tensors."""
    gradient, x, w = op.inputs
    wanted = float(op.attrs["wanted"])
    each, depth = op.work.matmul_flops / wanted, w.shape[1] * w.shape[2] * w.shape[3]
    data = gradient.bytes + x.bytes + w.bytes
    layouts = (Kernel("layout", 2 * t.bytes, rows=t.shape[0] * t.shape[1], count=wanted) for t in (gradient, x))
    return (Kernel("conv", data, each, depth=depth, count=wanted), *layouts, Kernel("layout_weight", 2 * w.bytes, count=wanted))


def lower_transposed(op: Op) -> Sequence[Kernel]:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    depth = w.shape[0] * w.shape[2] * w.shape[3]
    return (
        Kernel("conv", op.work.bytes, op.work.matmul_flops, depth=depth), Kernel("layout", 2 * x.bytes, rows=x.shape[0] * x.shape[1]),
        Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1]), Kernel("layout_weight", 2 * w.bytes),
    )  # fmt: skip


def lower_attention(op: Op) -> Sequence[Kernel]:
    """The sum of gradient × output per row, the tiled kernel, and the gradient of q from FP32."""
    q = op.inputs[1]
    rows = q.shape[0] * q.shape[1]
    return (
        Kernel("fused_rows", 2 * q.bytes, rows=rows * q.shape[-2]), Kernel("attention", op.work.bytes, op.work.matmul_flops, rows),
        Kernel("cast", 3 * q.bytes),
    )  # fmt: skip


def lower_norm(op: Op) -> Sequence[Kernel]:
    """One kernel for the input's gradient, one for those of gain and shift."""
    x = op.inputs[0]
    rows = x.size / x.shape[-1]
    return (Kernel("layer_norm", op.work.bytes, op.work.flops, rows), Kernel("fused_rows", 2 * x.bytes, 0.0, rows))


def lower_foreach(op: Op) -> Sequence[Kernel]:
    count = op.work.launches
    return (Kernel("elementwise", op.work.bytes / count, op.work.flops / count, count=count),)


LOWER.update(
    foreach=lower_foreach, conv_backward=lower_conv, conv_transpose2d=lower_transposed, attention_backward=lower_attention,
    norm_backward=lower_norm,
)  # fmt: skip
