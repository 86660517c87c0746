"""Op kinds of a training step that are not the forward kinds over again, and what is known only by its tensors.

A gradient of an element-wise op is element-wise, that of a matrix product is two matrix products: PyTorch runs those as
such. These are its kernels that do more in one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.engine.arrays import ceil, maximum
from ironlaw.engine.attention import tiled
from ironlaw.engine.kernels import Kernel, multiple
from ironlaw.engine.lowering import COMPILED, LOWER
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


@kind("rowwise")
def batch_norm_train(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """With the batch's own statistics: mean and variance (4 an element), then normalise, gain and shift (4)."""
    return Count(vector=8.0 * x[0].size, launches=3.0)


@kind("rowwise")
def batch_norm_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: gradient, input. Two sums over a channel (4 an element), then the input's gradient (5)."""
    return Count(vector=9.0 * x[0].size)


@kind("elementwise")
def gelu_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """Scale, erf, add, halve; square, scale, exp, scale; multiply, add, times the gradient: 11 an element."""
    return Count(vector=11.0 * y[0].size)


@kind("window")
def max_pool2d_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: gradient, indices. Filled with zeros; each gradient is added where its maximum was."""
    return Count(vector=1.0 * x[0].size, launches=2.0)


@kind("lookup")
def embedding_backward(x: Tensors, y: Tensors, a: Mapping[str, Any]) -> Count:
    """inputs: gradient, indices. The table's gradient is filled with zeros; each row is added to its own."""
    return Count(vector=1.0 * x[0].size, launches=2.0)


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
    """A convolution for each gradient that is wanted, the weight's always; each converts its own operands and its result.

    A 1×1 convolution on aligned planes is two matrix products on NCHW as it stands; the weight's is split and joined.
    """
    gradient, x, w = op.inputs
    n, plane = gradient.shape[0], gradient.shape[2] * gradient.shape[3]
    both = float(op.attrs["wanted"]) - 1.0  # is the input's gradient wanted too?
    each, data = op.work.matmul_flops / (1.0 + both), gradient.bytes + x.bytes + w.bytes
    point = w.shape[2] == w.shape[3] == 1
    weights = Kernel("conv_wgrad", data, each, depth=n * plane)
    if point and x.shape[2:] == gradient.shape[2:] and multiple(plane, 8):
        return (Kernel("conv_1x1", data, each, depth=w.shape[0], count=both), weights, Kernel("tiny", 0.0))
    k = 0.0 if point else 1.0
    return (
        Kernel("conv_dgrad", data, each, depth=w.shape[0] * w.shape[2] * w.shape[3], count=both), weights,
        Kernel("layout", 2 * gradient.bytes, rows=n * gradient.shape[1], count=1.0 + both),
        Kernel("layout", 2 * x.bytes, rows=n * x.shape[1], count=1.0 + both),
        Kernel("layout_weight", 2 * w.bytes, count=k * (1.0 + both)), Kernel("tiny", 0.0),
    )  # fmt: skip


def lower_transposed(op: Op) -> Sequence[Kernel]:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    depth = w.shape[0] * w.shape[2] * w.shape[3]
    return (
        Kernel("conv", op.work.bytes, op.work.matmul_flops, depth=depth), Kernel("layout", 2 * x.bytes, rows=x.shape[0] * x.shape[1]),
        Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1]), Kernel("layout_weight", 2 * w.bytes),
    )  # fmt: skip


def lower_attention(op: Op) -> Sequence[Kernel]:
    """The sum of gradient × output per row, the tiled kernel, and the gradient of q, which it sums in FP32, narrowed."""
    q, k = op.inputs[1], op.inputs[2]
    main = tiled("attention_backward", q, k, op.work.bytes, bool(op.attrs.get("causal")), products=5.0)
    return (
        Kernel("attention_dot", 2 * q.bytes), main,
        Kernel("attention_dq", q.bytes + 4.0 * q.size), Kernel("tiny", 0.0),
    )  # fmt: skip


def lower_norm(op: Op) -> Sequence[Kernel]:
    """One kernel for the input's gradient, one for those of gain and shift, which walks down the rows."""
    gradient, x = op.inputs[0], op.inputs[1]
    rows = x.size / x.shape[-1]
    data = gradient.bytes + x.bytes
    return (Kernel("layer_norm_backward", data + op.outputs[0].bytes, op.work.flops, rows), Kernel("layer_norm_weights", data, depth=rows))


def lower_batch_norm(op: Op) -> Sequence[Kernel]:
    """Statistics, a block for each channel; their running means; the transform, as in inference."""
    x = op.inputs[0]
    n, c = x.shape[:2]
    return (
        Kernel("batch_norm_stats", x.bytes, rows=c, depth=x.size / c), Kernel("tiny", 0.0),
        Kernel("batch_norm", op.work.bytes, 4.0 * x.size, n * c),
    )  # fmt: skip


def lower_batch_norm_backward(op: Op) -> Sequence[Kernel]:
    """A block for each channel goes through gradient and input twice."""
    gradient, x = op.inputs[0], op.inputs[1]
    data = 2 * (gradient.bytes + x.bytes) + op.outputs[0].bytes
    return (Kernel("batch_norm_backward", data, rows=x.shape[1], depth=x.size / x.shape[1]),)


def lower_max_pool(op: Op) -> Sequence[Kernel]:
    """Filled, then a thread for each element of the input looks which windows chose it."""
    y = op.outputs[0]
    return (Kernel("fill", y.bytes), Kernel("max_pool2d_backward", op.work.bytes, rows=y.size))


def lower_embedding(op: Op) -> Sequence[Kernel]:
    """Filled, then each block walks all tokens for the features that are its own."""
    gradient, table = op.inputs[0], op.outputs[0]
    tokens = gradient.size / gradient.shape[-1]
    return (Kernel("fill", table.bytes), Kernel("embedding_backward", 2 * gradient.bytes, depth=tokens))


def lower_foreach(op: Op) -> Sequence[Kernel]:
    count = op.work.launches
    return (Kernel("foreach", op.work.bytes / count, op.work.flops / count, count=count),)


LOWER.update(
    foreach=lower_foreach, conv_backward=lower_conv, conv_transpose2d=lower_transposed, attention_backward=lower_attention,
    norm_backward=lower_norm, batch_norm_train=lower_batch_norm, batch_norm_backward=lower_batch_norm_backward,
    max_pool2d_backward=lower_max_pool, embedding_backward=lower_embedding,
)  # fmt: skip
COMPILED["foreach"] = lower_foreach  # an optimiser's lists are not compiled with the model
