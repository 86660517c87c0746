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

from ironlaw.backends.inductor import WRITTEN
from ironlaw.backends.kernel import Kernel, launched
from ironlaw.engine.arrays import Number, is_array, is_positive, minimum, where
from ironlaw.engine.device.types import FORMATS, Op, Tensor
from ironlaw.engine.device.work import category, traits
from ironlaw.engine.device.work import op as make_op
from ironlaw.engine.device.work.recurrent_work import CELLS, wanted, widths

Lowering = Callable[[Op], Sequence[Kernel]]
FEW = 8  # rows, columns or depth up to which a product stays with the BLAS
ALIASED = 2048  # elements of a row: packing walks down columns, which then fall into the same few sets of the cache
FEW_CHANNELS = 4  # up to which a convolution is a first layer: images, spectrograms
LONG = 768  # queries from which ATen's tiled attention takes tiles of 256
SOFT = ("softmax", "log_softmax")
TRANSCENDENTAL = ("gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "exp", "erf", "softplus", "mish", "log", "sin", "cos")


def lower(op: Op, mode: str) -> tuple[Kernel, ...]:
    """The kernels behind an op, eager or as torch.compile leaves it."""
    compiled = mode != "eager"
    if op.work.launches == 0:
        return ()
    if op.kind == "fused":
        kernels = _fused(op)
    elif compiled and op.kind == "conv2d":
        kernels = conv2d(op, "_nhwc")
    elif compiled and (category(op.kind) in WRITTEN or op.kind.endswith("pool2d")):
        kernels = _written(op, (op,))
    else:
        kernels = _eager(op)(op)
    return launched(kernels)


def _eager(op: Op) -> Lowering:
    known = traits(op.kind)
    return LOWER.get(op.kind) or (None if known.like else UNITS.get(known.unit)) or stream  # gradients are streams here


def stream(op: Op) -> Sequence[Kernel]:
    """Reads and writes each tensor once."""
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


def recurrent(op: Op) -> Sequence[Kernel]:
    """The same products one after the other, as the BLAS runs them, and the cell as one loop over its gates; for gradients each product
    twice, but for that of what comes in where nobody wants it."""
    a, x = op.attrs, op.inputs[0]
    back = bool(a.get("backward"))
    unwanted = back and not wanted(op.inputs, op.outputs)
    steps, batch, _ = x.shape
    gates, count = CELLS[a["cell"]][0] * a["hidden"], steps * a["layers"] * a["directions"]

    def product(rows: float, wide: float, times: float) -> list[Kernel]:
        inputs = [Tensor("x", (rows, wide), x.dtype), Tensor("w", (gates, wide), x.dtype, "weight")]
        op = make_op("linear", "product", inputs, [Tensor("y", (rows, gates), x.dtype)])
        return [replace(k, count=k.count * times) for k in matrix(op)]

    passes = [(1.0 + back) - (unwanted and layer == 0) for layer in range(a["layers"])]
    inputs = [k for wide, times in zip(widths(x, a), passes, strict=True) for k in product(steps * batch, wide, times * a["directions"])]
    count = (1.0 + back) * count
    cell = Kernel("sigmoid", batch * (gates + 2.0 * a["hidden"]) * FORMATS[x.dtype], count=count)
    return (*inputs, *product(batch, a["hidden"], count), cell)


def _fused(op: Op) -> Sequence[Kernel]:
    """Several ops in one loop; a contraction among them is a library's, and what is fused to it a loop of its own."""
    parts: tuple[Op, ...] = op.attrs["parts"]
    heavy = [p for p in parts if category(p.kind) in ("contraction", "attention")]
    if not heavy:
        return _written(op, parts)
    rest = tuple(p for p in parts if p is not heavy[0])
    return (*lower(heavy[0], "compiled"), replace(_written(op, rest)[0], data=rest[-1].work.bytes))


def _written(op: Op, parts: Sequence[Op]) -> Sequence[Kernel]:
    """A loop that the compiler writes: its bytes, and the elements of a transcendental function or the rows that it reduces."""
    elements: Number = sum(p.outputs[0].size for p in parts if p.kind in TRANSCENDENTAL or p.kind in SOFT)
    if any(p.kind in SOFT for p in parts):
        return (Kernel("fused_softmax", op.work.bytes, rows=elements),)
    reduced = [p for p in parts if category(p.kind) in ("rowwise", "reduction")]
    if is_positive(elements) and not reduced:
        return (Kernel("fused_transcendental", op.work.bytes, rows=elements),)
    if reduced:
        first, x = reduced[0], reduced[0].inputs[0]
        many = first.outputs[0].size if category(first.kind) == "reduction" else x.size / first.attrs.get("row", x.shape[-1])
        return (Kernel("fused_rows", op.work.bytes, rows=many),)
    return (Kernel("fused", op.work.bytes),)


UNITS: dict[str, Lowering] = {"row": rowwise, "plane": planes, "result": reduction}
LOWER: dict[str, Lowering] = {
    "linear": matrix, "matmul": matrix, "bmm": matrix, "conv2d": conv2d, "attention": attention, "avg_pool2d": pool, "max_pool2d": pool,
    "recurrent": recurrent, "grouped_matmul": matrix, "quantised_linear": matrix, "quantised_grouped_matmul": matrix,
}  # fmt: skip
