"""What PyTorch runs on a processor for an op: op -> kernels, each one call of a library or of a loop that PyTorch brings.

Seen on a real machine (evidence neoverse_n1_2core/machine), and in ATen's rules for choosing a library:
- a product with one row is a matrix-vector product: the weight is read once, and that is all;
- with two to eight rows (or columns) it goes to the BLAS, which packs the weight first: several times the traffic;
- from nine on it goes to oneDNN, whose set-up costs a hundred microseconds and whose packing is paid back row by row;
- convolutions follow their inner loop: a few channels, one channel each, a group, 1×1, or a window. torch.compile hands them over
  with the channels last;
- there is no queue: a call returns when its work is done, so nothing hides what a call costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ironlaw.engine.arrays import Number, is_array, is_positive, minimum, where
from ironlaw.engine.kernels import Kernel
from ironlaw.engine.types import FORMATS, Op
from ironlaw.engine.work import category

FEW = 8  # rows, columns or depth up to which a product stays with the BLAS
ALIASED = 2048  # elements of a row: packing walks down columns, which then fall into the same few sets of the cache
FEW_CHANNELS = 4  # up to which a convolution is a first layer: images, spectrograms
LONG = 768  # queries from which ATen's tiled attention takes tiles of 256
SOFT = ("softmax", "log_softmax")
DEAR = ("gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "exp", "erf", "softplus", "mish", "log", "sin", "cos")


def lower(op: Op, compiled: bool = False) -> tuple[Kernel, ...]:
    """The kernels behind an op, eager or as torch.compile leaves it."""
    if op.work.launches == 0:
        return ()
    if op.kind == "fused":
        kernels = _fused(op)
    elif compiled and op.kind == "conv2d":
        kernels = conv2d(op, "_nhwc")
    elif compiled and (category(op.kind) in ("elementwise", "rowwise", "reduction", "movement") or op.kind.endswith("pool2d")):
        kernels = _written(op, (op,))
    else:
        kernels = LOWER.get(op.kind, stream)(op)
    return tuple(k for k in kernels if is_array(k.count) or k.count > 0)


def stream(op: Op) -> Sequence[Kernel]:
    """Each tensor once."""
    if op.attrs.get("strided"):
        return (Kernel("strided", op.work.bytes),)
    return (Kernel(op.kind, op.work.bytes),)


def rowwise(op: Op) -> Sequence[Kernel]:
    x = op.inputs[0]
    return (Kernel(op.kind, op.work.bytes, rows=x.size / op.attrs.get("row", x.shape[-1])),)


def reduction(op: Op) -> Sequence[Kernel]:
    if op.attrs.get("over", "row") == "all":
        return (Kernel("sum_all", op.work.bytes),)
    return (Kernel(op.kind, op.work.bytes, rows=op.outputs[0].size),)


def planes(op: Op) -> Sequence[Kernel]:
    """Batch and group norm: plane by plane."""
    n, c = op.inputs[0].shape[:2]
    return (Kernel(op.kind, op.work.bytes, rows=n * c),)


def pool(op: Op) -> Sequence[Kernel]:
    """A thread for each output walks its window."""
    return (Kernel(op.kind, op.work.bytes, rows=op.outputs[0].size),)


def matrix(op: Op) -> Sequence[Kernel]:
    """linear and matmul: by the number of rows."""
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    k, n = x.shape[-1], y.shape[-1]
    m = y.size / n
    if op.kind == "bmm" or len(w.shape) > 2:
        return (Kernel("bmm", op.work.bytes, op.work.matmul_flops, _batches(y.shape), k),)
    single = where(m == 1, 1.0, 0.0)
    few = where(minimum(m, minimum(n, k)) <= FEW, 1.0, 0.0) * (1.0 - single)
    name = "gemm_few" if is_array(k) or k % ALIASED else "gemm_few_aliased"
    return (
        Kernel("gemv", op.work.bytes, count=single), Kernel(name, op.work.bytes, op.work.matmul_flops, depth=k, count=few),
        Kernel("gemm", op.work.bytes, op.work.matmul_flops, depth=k, count=1.0 - single - few),
    )  # fmt: skip


def _batches(shape: Sequence[Number]) -> Number:
    """How many products a batched one is."""
    count: Number = 1.0
    for d in shape[:-2]:
        count = count * d
    return count


def conv2d(op: Op, layout: str = "") -> Sequence[Kernel]:
    x, w = op.inputs[0], op.inputs[1]
    c, each, taps = x.shape[1], w.shape[1], w.shape[2] * w.shape[3]
    layout = layout or ("_nhwc" if op.attrs.get("layout") == "nhwc" else "")
    name = (
        ("depthwise_large" if taps > 9 else "depthwise_strided" if op.attrs.get("stride", 1) > 1 else "depthwise")
        if each == 1 and c > 1 else "conv_grouped" if each < c else "conv_first" if c <= FEW_CHANNELS
        else "conv_1x1" if taps == 1 else "conv"
    )  # fmt: skip
    return (Kernel(name + layout, op.work.bytes, op.work.matmul_flops, depth=each * taps),)


def attention(op: Op) -> Sequence[Kernel]:
    """Tiled, or with the scores in memory; shared keys and values, and one query, take another path."""
    q, k = op.inputs[0], op.inputs[1]
    if op.attrs.get("impl", "flash") == "naive":
        return naive(op)
    heads = q.shape[0] * q.shape[1]
    one, long = where(q.shape[-2] == 1, 1.0, 0.0), where(q.shape[-2] >= LONG, 1.0, 0.0)
    data = op.work.bytes + 2.0 * FORMATS[q.dtype] * heads * q.shape[-2] * k.shape[-2]  # a tile of scores goes to the cache and back
    return (
        Kernel("attention_decode", op.work.bytes, op.work.matmul_flops, heads, count=one),
        Kernel("attention", data, op.work.matmul_flops, heads, count=1.0 - one - long),
        Kernel("attention_long", data, op.work.matmul_flops, heads, count=long),
    )


def naive(op: Op) -> Sequence[Kernel]:
    q, k = op.inputs[0], op.inputs[1]
    size, heads = FORMATS[q.dtype], q.shape[0] * q.shape[1]
    scores = size * heads * q.shape[-2] * k.shape[-2]
    each = op.work.matmul_flops / 2
    return (
        Kernel("bmm", q.bytes + k.bytes + scores, each, heads, q.shape[-1]), Kernel("softmax", 2 * scores, rows=heads * q.shape[-2]),
        Kernel("bmm", q.bytes + k.bytes + scores, each, heads, k.shape[-2]),
    )  # fmt: skip


def _fused(op: Op) -> Sequence[Kernel]:
    """Several ops in one loop; a contraction among them is a library's, and what is fused to it a loop of its own."""
    parts: tuple[Op, ...] = op.attrs["parts"]
    heavy = [p for p in parts if category(p.kind) in ("contraction", "attention")]
    if not heavy:
        return _written(op, parts)
    rest = tuple(p for p in parts if p is not heavy[0])
    return (*lower(heavy[0], compiled=True), replace(_written(op, rest)[0], data=rest[-1].work.bytes))


def _written(op: Op, parts: Sequence[Op]) -> Sequence[Kernel]:
    """A loop that the compiler writes: its bytes, and the elements that go through a dear function or the rows that it reduces."""
    dear: Number = sum(p.outputs[0].size for p in parts if p.kind in DEAR or p.kind in SOFT)
    if any(p.kind in SOFT for p in parts):
        return (Kernel("fused_softmax", op.work.bytes, rows=dear),)
    reduced = [p for p in parts if category(p.kind) in ("rowwise", "reduction")]
    if is_positive(dear) and not reduced:
        return (Kernel("fused_dear", op.work.bytes, rows=dear),)
    if reduced:
        first, x = reduced[0], reduced[0].inputs[0]
        many = first.outputs[0].size if category(first.kind) == "reduction" else x.size / first.attrs.get("row", x.shape[-1])
        return (Kernel("fused_rows", op.work.bytes, rows=many),)
    return (Kernel("fused", op.work.bytes),)


LOWER: dict[str, Callable[[Op], Sequence[Kernel]]] = {
    "linear": matrix, "matmul": matrix, "bmm": matrix, "conv2d": conv2d, "attention": attention, "batch_norm": planes,
    "group_norm": planes, "layer_norm": rowwise, "rms_norm": rowwise, "softmax": rowwise, "log_softmax": rowwise, "sum": reduction,
    "mean": reduction, "amax": reduction, "argmax": reduction, "var": reduction, "avg_pool2d": pool, "max_pool2d": pool,
}  # fmt: skip
# where a kernel was not measured: the curve whose work is most alike
FALLBACK = {
    "conv_nhwc": "conv", "conv_1x1_nhwc": "conv_1x1", "conv_first_nhwc": "conv_first", "conv_grouped_nhwc": "conv_grouped",
    "depthwise_nhwc": "depthwise", "depthwise_strided_nhwc": "depthwise_strided", "depthwise_large_nhwc": "depthwise_large",
    "conv_first": "conv", "conv_grouped": "conv", "depthwise_strided": "depthwise", "depthwise_large": "depthwise", "gemm_few": "gemm",
    "bmm": "gemm", "gemm_few_aliased": "gemm_few", "attention_decode": "attention", "attention_long": "attention", "fused_dear": "gelu",
    "fused_softmax": "softmax", "fused": "elementwise", "fused_rows": "layer_norm", "square": "power", "cube": "power", "shift": "scale",
    "sub": "add", "div": "mul", "relu6": "hardtanh", "transpose": "strided", "group_norm": "batch_norm", "var": "mean", "amax": "sum",
    "gather": "embedding", "rotary": "strided", "exp": "sigmoid",
}  # fmt: skip
