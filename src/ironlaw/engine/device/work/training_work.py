"""Op kinds of a training step that differ from the forward kinds.

The gradient of an element-wise op is element-wise, that of a matrix product is two matrix products: libraries run those as
such. These are the calls that do more at once.
"""

from __future__ import annotations

from ironlaw.engine.device.work.keeping import NORM, per_channel
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors

kind = Kinds()
PLANES = dict(mixed=True, family="norm", unit="plane", like="batch_norm")


@kind("contraction", like="conv2d")
def conv_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: gradient, input, weight. One convolution's arithmetic for each gradient that is `wanted`, of input and weight."""
    _, per_group, kh, kw = x[2].shape
    return Count(matmul=x[0].size * (2.0 * per_group * kh * kw) * a["wanted"], launches=1.0 * a["wanted"])


@kind("attention")
def attention_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: gradient, q, k, v, output. Five matrix products: the scores once more, then dV, dP, dQ and dK."""
    q, k, v = x[1], x[2], x[3]
    scores = q.size / q.shape[-1] * k.shape[-2]
    both = 2.0 * scores * (3.0 * q.shape[-1] + 2.0 * v.shape[-1])
    return Count(matmul=both, vector=8.0 * scores)


@kind("rowwise", family="norm", like="layer_norm")
def norm_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Normalise again (2), gain (1), two row sums (3), combine (3), sums for gain and shift (3): 12 per element."""
    return Count(vector=12.0 * x[0].size, launches=2.0)


@kind("rowwise", **PLANES, keeps=NORM, statistics=per_channel)
def batch_norm_train(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """With the batch's own statistics: mean and variance (4 per element), then normalise, gain and shift (4)."""
    return Count(vector=8.0 * x[0].size, launches=3.0)


@kind("rowwise", **PLANES)
def batch_norm_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: gradient, input. Two sums over a channel (4 per element), then the input's gradient (5)."""
    return Count(vector=9.0 * x[0].size)


@kind("elementwise", like="gelu")
def gelu_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Scale, erf, add, halve; square, scale, exp, scale; multiply, add, times the gradient: 11 per element."""
    return Count(vector=11.0 * y[0].size)


@kind("window")
def max_pool2d_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: gradient, indices. Filled with zeros; each gradient is added where its maximum was."""
    return Count(vector=1.0 * x[0].size, launches=2.0)


@kind("lookup")
def embedding_backward(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """inputs: gradient, indices. The table's gradient is filled with zeros; each row is added to its own."""
    return Count(vector=1.0 * x[0].size, launches=2.0)


@kind("elementwise")
def foreach(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """One operation an element over a whole list of tensors, as optimisers do; attr `launches` where a library takes several."""
    return Count(vector=1.0 * sum(t.size for t in y), launches=a.get("launches", 1.0))
