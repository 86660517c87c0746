"""What PyTorch launches on a CUDA device for an op: op -> kernels.

Counted on real traces (evidence h200_sxm/machine). What matters most:
- a convolution on NCHW tensors runs in NHWC: its input, its weight (unless 1×1) and its output are converted, a kernel
  each; a 1×1 convolution with stride 1 is a matrix product on NCHW as it stands when a plane is a multiple of 8 elements;
- a matrix whose rows are not a multiple of 8 elements (16 bytes in FP16) goes to an older, slower kernel;
- batch norm is three kernels (two of them tiny), attention two (one clears a counter), a very large matmul two; torch.compile
  keeps convolutions in NHWC throughout, so only k×k weights are converted.

A condition on a swept size can't choose one path for all points: each path's kernels get a `count` of 0 or 1 per point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ironlaw.engine.arrays import Number, is_array, maximum, minimum, where
from ironlaw.engine.attention import attention, attention_compiled
from ironlaw.engine.kernels import Kernel, gemm_curve
from ironlaw.engine.routing import cumsum, grouped_matrix, scatter, topk
from ironlaw.engine.types import FORMATS, Op
from ironlaw.engine.work import SMALL_REDUCTION, category

FEW_ROWS = 40_000  # outputs times groups up to which cuDNN runs a grouped convolution group by group
PADDED_IMAGES = 20_000  # pixels from which images of few channels are padded and converted
GROUP_TILE = 64  # channels that a convolution's tile holds, however few a group has
MANY_ROWS = 1024  # from which a sum down the columns is shared out over blocks, whose counters are cleared first
DEEPEST = 16384.0  # steps of a product's inner loop that were measured; beyond, the library splits it over more of the chip
SPLIT_FROM, SPLIT_TILES = 3072, 80  # a product is shared out along its depth from so many steps on, up to so many tiles
FILLED = 128.0  # tiles that fill the chip
PADDED_FROM = 200.0  # multiply-adds per element, from which torch.compile pads a product: what the chip computes while it reads one
SECTOR = 32.0  # bytes, the least that is fetched
LONG_GROUP = 8192  # elements of a group from which torch.compile sums it in parts


def lower(op: Op, compiled: bool = False) -> tuple[Kernel, ...]:
    """The kernels behind an op, eager or as torch.compile leaves it."""
    if op.kind == "fused":
        kernels = _fused(op)
    else:
        find = COMPILED.get(op.kind) or WRITTEN.get(category(op.kind)) if compiled else None
        kernels = (find or LOWER.get(op.kind, stream))(op)
    return tuple(k for k in kernels if is_array(k.count) or k.count > 0)


def stream(op: Op) -> Sequence[Kernel]:
    """Each tensor once: element-wise ops, copies, lookups."""
    if op.work.launches == 0:
        return ()
    if op.attrs.get("rolled"):  # one axis after the other
        return (Kernel("roll", op.work.bytes, count=float(op.attrs["rolled"])),)
    return (Kernel(_stream_curve(op), op.work.bytes, op.work.flops),)


def _stream_curve(op: Op) -> str:
    if op.attrs.get("strided"):
        return "strided_columns" if op.attrs["strided"] == "columns" else "strided"
    if op.kind == "cast" and FORMATS[op.outputs[0].dtype] > FORMATS[op.inputs[0].dtype]:
        return "cast_up"  # to a wider format: PyTorch's slower, unvectorised kernel
    if len(op.inputs) > 1 and op.kind in ("add", "mul", "sub", "div"):
        out = op.outputs[0].shape
        shapes = [t.shape for t in op.inputs[:2]]
        if any(shape[-1] is not out[-1] and not is_array(shape[-1]) and shape[-1] == 1 for shape in shapes) and _differs(out[-1], 1):
            return "broadcast_row"  # one value for each row
        if any(len(shape) != len(out) or any(map(_differs, shape, out)) for shape in shapes):
            return "broadcast"
    return op.kind


def _differs(a: Number, b: Number) -> bool:
    """Whether two sizes differ; a swept size equals only itself."""
    return a is not b if is_array(a, b) else bool(a != b)


def rowwise(op: Op) -> Sequence[Kernel]:
    row = op.attrs.get("row", op.inputs[0].shape[-1])
    return (Kernel(op.kind, op.work.bytes, op.work.flops, op.inputs[0].size / row),)


def reduction(op: Op) -> Sequence[Kernel]:
    """Along rows, or down columns; over the whole tensor, blocks sum their parts and a second kernel joins them."""
    if _down(op):
        depth = op.inputs[0].size / op.outputs[0].size
        return (Kernel("sum_columns", op.work.bytes, depth=depth), Kernel("tiny", 0.0, count=where(depth >= MANY_ROWS, 1.0, 0.0)))
    if op.attrs.get("over", "row") == "row":
        return (Kernel(op.kind, op.work.bytes, op.work.flops, op.outputs[0].size),)
    return Kernel("sum_all", op.work.bytes, op.work.flops), _joining(op)


def _joining(op: Op) -> Kernel:
    return Kernel("tiny", 0.0, count=where(op.inputs[0].size > SMALL_REDUCTION, 1.0, 0.0))


def batch_norm(op: Op) -> Sequence[Kernel]:
    """Copy of the statistics, inverse deviation, transform, whose planes cost by themselves; where a channel is one number it has none."""
    n, c, *plane = op.inputs[0].shape
    flat = all(not is_array(size) and size == 1 for size in plane)
    main = Kernel("broadcast", op.work.bytes) if flat else Kernel("batch_norm", op.work.bytes, op.work.flops, n * c)
    return main, Kernel("tiny", 0.0, count=2.0)


def group_norm(op: Op) -> Sequence[Kernel]:
    x = op.inputs[0]
    groups = op.attrs.get("groups", 32.0)
    each = x.size / (x.shape[0] * groups)  # one block sums a group by itself, so a long group takes long
    return (Kernel("group_norm", op.work.bytes, depth=each), Kernel("broadcast", op.work.bytes), Kernel("tiny", 0.0))


def matrix(op: Op) -> Sequence[Kernel]:
    """linear, matmul, bmm. A small product with a deep inner loop is split along it and summed by a second kernel."""
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    k, n = x.shape[-1], y.shape[-1]
    m = y.size / n
    depth = minimum(k, DEEPEST)
    kernel = Kernel(gemm_curve(op.dtype, (k, n)), op.work.bytes, op.work.matmul_flops, depth=depth)
    batched = op.kind == "bmm" or len(w.shape) > 2
    if batched:
        return (Kernel("bmm" if kernel.curve == "gemm" else kernel.curve.replace("gemm", "bmm"), kernel.data, kernel.flops, depth=depth),)
    if kernel.curve != "gemm":
        return (kernel,)
    tiles = (n / 64) * ((m + 15) // 16)
    split = where((tiles <= SPLIT_TILES) & (k >= SPLIT_FROM), 1.0, 0.0)
    second = where(m * n > 9.6e6, 1.0, split)
    depth = depth * (1.0 - split * (1.0 - minimum(tiles / FILLED, 1.0)))
    paired = (1.0 - split) * where((m < 8) & ((n + 63) // 64 == 16), 1.0, 0.0)
    plain, pair = replace(kernel, depth=depth, count=1.0 - paired), replace(kernel, curve="gemm_pair", count=paired)
    return plain, pair, Kernel("tiny", 0.0, count=second)


def conv2d(op: Op) -> Sequence[Kernel]:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, c, plane = x.shape[0], x.shape[1], y.shape[2] * y.shape[3]
    kh, kw = w.shape[2], w.shape[3]
    bias = (Kernel("broadcast", 2 * y.bytes, y.size),) if len(op.inputs) > 2 else ()
    if w.shape[1] == 1 and c > 1:
        if op.attrs.get("layout") == "nhwc":
            return (Kernel("depthwise_nhwc", op.work.bytes, op.work.matmul_flops, depth=kh * kw), *bias)
        name = "depthwise_large" if kh * kw > 9 else "depthwise_strided" if op.attrs.get("stride", 1) > 1 else "depthwise"
        return (Kernel(name, op.work.bytes, op.work.matmul_flops, depth=kh * kw), *bias)
    m, depth = n * plane, w.shape[1] * kh * kw
    if w.shape[1] < c and op.dtype in ("fp16", "bf16") and op.attrs.get("layout") != "nhwc":
        return (*_grouped(op), *bias)
    if op.attrs.get("layout") == "nhwc":  # channels last already: nothing is converted
        return (Kernel("conv_1x1_nhwc" if kh == kw == 1 else "conv", op.work.bytes, op.work.matmul_flops, depth=depth), *bias)
    if op.dtype not in ("fp16", "bf16"):
        return (Kernel(f"conv_{op.dtype}", op.work.bytes, op.work.matmul_flops, depth=depth), *bias)
    if c % 8:
        return (*_first_layer(op, m, depth), *bias)
    one = kh == kw == 1 and x.shape[2:] == y.shape[2:]
    if one and plane % 8 == 0:
        return (Kernel("conv_1x1", op.work.bytes, op.work.matmul_flops, depth=depth), *bias)
    direct = where((plane % 2 == 0) | (n == 1), 1.0, 0.0) if one else 0.0
    other = 1.0 - direct
    odd = Kernel("conv_1x1_odd", op.work.bytes, op.work.matmul_flops, depth=depth, count=direct)
    split = Kernel("tiny", 0.0, count=direct * where((n == 1) & (depth >= 576), 1.0, 0.0)) if one else Kernel("tiny", 0.0, count=0.0)
    weight = () if kh == kw == 1 else (Kernel("layout_weight", 2 * w.bytes, count=other),)
    return (
        odd, split, Kernel("layout", 2 * x.bytes, rows=n * c, count=other), *weight,
        Kernel("conv", op.work.bytes, op.work.matmul_flops, depth=depth, count=other),
        Kernel("layout", 2 * y.bytes, rows=n * y.shape[1], count=other), *bias,
    )  # fmt: skip


def _grouped(op: Op) -> Sequence[Kernel]:
    """Few outputs in wide groups: a convolution and its conversions for each group. Else all at once, with a tile's channels
    filled up with zeros.
    """
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, c, each, taps = x.shape[0], x.shape[1], w.shape[1], w.shape[2] * w.shape[3]
    groups = c / each
    outputs = y.size / y.shape[1]
    apart = where((outputs * groups <= FEW_ROWS) & (each >= GROUP_TILE), 1.0, 0.0)
    times, share = apart * groups + (1.0 - apart), 1.0 + apart * (groups - 1.0)  # so many launches, each with such a part
    filled = maximum(each, GROUP_TILE)
    return (
        Kernel("layout", 2 * x.bytes / share, rows=n * c / share, count=times), Kernel("layout_weight", 2 * w.bytes / share, count=times),
        Kernel("conv", op.work.bytes / share, op.work.matmul_flops * (filled / each) / share, depth=filled * taps, count=times),
        Kernel("layout", 2 * y.bytes / share, rows=n * y.shape[1] / share, count=times),
    )  # fmt: skip


def _first_layer(op: Op, m: Number, depth: Number) -> Sequence[Kernel]:
    """Images and spectrograms, whose few channels fill no vector: padded and converted when there is enough of it."""
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    large = where(m > PADDED_IMAGES, 1.0, 0.0) if op.attrs.get("stride", 1) < 16 else 1.0
    return (
        Kernel("conv_few_channels", op.work.bytes, op.work.matmul_flops, depth=depth, count=1.0 - large),
        Kernel("conv_first", op.work.bytes, op.work.matmul_flops, depth=depth, count=large),
        Kernel("layout_first", x.bytes * (1 + 8 / x.shape[1]) + 2 * w.bytes, count=large),
        Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1], count=large),
        Kernel("tiny", 0.0, count=3.0 * large),
    )


def conv2d_compiled(op: Op) -> Sequence[Kernel]:
    """In NHWC throughout; a bias is added by whatever reads the result."""
    x, w = op.inputs[0], op.inputs[1]
    kh, kw, depth = w.shape[2], w.shape[3], w.shape[1] * w.shape[2] * w.shape[3]
    if w.shape[1] == 1 and x.shape[1] > 1:
        return (Kernel("depthwise_nhwc", op.work.bytes, op.work.matmul_flops, depth=kh * kw),)
    if op.dtype not in ("fp16", "bf16"):
        return (Kernel(f"conv_{op.dtype}", op.work.bytes, op.work.matmul_flops, depth=depth),)
    if x.shape[1] % 8:
        # a single channel is innermost already: a little of it is read as it stands
        few = where(op.outputs[0].size / w.shape[0] > PADDED_IMAGES, 0.0, 1.0) if x.shape[1] == 1 else 0.0
        return (
            Kernel("conv_few_channels", op.work.bytes, op.work.matmul_flops, depth=depth, count=few),
            Kernel("conv_first_nhwc", op.work.bytes, op.work.matmul_flops, depth=depth, count=1.0 - few),
            Kernel("layout_weight", 2 * x.bytes, count=1.0 - few), Kernel("layout", 2 * w.bytes, count=1.0 - few),
        )  # fmt: skip
    if kh == kw == 1:
        return (Kernel("conv_1x1_nhwc", op.work.bytes, op.work.matmul_flops, depth=depth),)
    return (Kernel("conv", op.work.bytes, op.work.matmul_flops, depth=depth), Kernel("layout", 2 * w.bytes))


def linear_compiled(op: Op) -> Sequence[Kernel]:
    """An odd output width is padded to a multiple of 8 where arithmetic binds: the weight is copied, then the fast kernel runs."""
    kernels = matrix(op)
    if kernels[0].curve in ("gemm_even", "gemm_odd") and op.kind == "linear":
        x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
        pays = where(y.size * x.shape[-1] > PADDED_FROM * (x.size + w.size + y.size), 1.0, 0.0)
        plain = kernels[0]
        return replace(plain, count=1.0 - pays), replace(plain, curve="gemm", count=pays), Kernel("copy", 2 * w.bytes, count=pays)
    return kernels


def pool(op: Op) -> Sequence[Kernel]:
    """A thread for each output walks its window: the outputs cost by themselves."""
    return (Kernel(op.kind, op.work.bytes, rows=op.outputs[0].size),)


def pad(op: Op) -> Sequence[Kernel]:
    """Filled with zeros, then copied into; padding by nothing is a plain copy."""
    if op.inputs[0].shape == op.outputs[0].shape:
        return (Kernel("copy", op.work.bytes),)
    return (Kernel("fill", op.outputs[0].bytes), Kernel("strided", op.work.bytes))


def generated(op: Op) -> Sequence[Kernel]:
    """A kernel that the compiler writes by itself: as its reduction does, or a plain stream whatever the layout."""
    return _written(op, (op,))


def _fused(op: Op) -> Sequence[Kernel]:
    """Several ops in one kernel; a contraction among them is a library's."""
    parts: tuple[Op, ...] = op.attrs["parts"]
    heavy = [p for p in parts if category(p.kind) in ("contraction", "attention")]
    if heavy:
        main, *rest = lower(heavy[0], compiled=True)
        return (replace(main, data=op.work.bytes), *rest)
    return _written(op, parts)


def _written(op: Op, parts: Sequence[Op]) -> Sequence[Kernel]:
    """By its first reduction, or by a group norm among them."""
    if long := [p for p in parts if p.kind == "group_norm"]:
        return _groups(op, long[0])
    rows = [p for p in parts if category(p.kind) in ("rowwise", "reduction") and not _down(p)]
    if rows:
        first, x = rows[0], rows[0].inputs[0]
        many = first.outputs[0].size if category(first.kind) == "reduction" else x.size / first.attrs.get("row", x.shape[-1])
        name = "fused_reduction" if category(first.kind) == "reduction" else "fused_rows"
        joined = [_joining(p) for p in rows if p.attrs.get("over", "row") == "all"]
        return (Kernel(name, op.work.bytes, op.work.flops, many), *joined)
    return (Kernel("fused", op.work.bytes, op.work.flops),)


def _down(op: Op) -> bool:
    """Is it summed down the columns? Then each thread does it by itself, and it is a stream."""
    return "axis" in op.attrs and op.attrs.get("over", "row") == "row"


def _groups(op: Op, norm: Op) -> Sequence[Kernel]:
    """Sums over each group, in parts and joined where it is long, then the stream. `layout` (`engine.layout`): with the channels
    innermost the sums jump from pixel to pixel, and where the parts are uneven each element is fetched by itself; so it is in a
    stream that turns an NCHW image round for the convolution that is to read it.
    """
    x, layout = norm.inputs[0], op.attrs.get("layout", "")
    each = x.size / (x.shape[0] * norm.attrs.get("groups", 32.0))
    inner, uneven = layout == "nhwc", layout == "nhwc" and not is_array(each) and not math.log2(each).is_integer()
    sums = Kernel("group_sums_uneven", SECTOR * x.size) if uneven else Kernel("group_sums_nhwc" if inner else "group_sums", x.bytes)
    stream = Kernel("group_turned", SECTOR * x.size) if layout == "to_nhwc" else Kernel("group_affine", op.work.bytes)
    return sums, Kernel("tiny", 0.0, count=where(each >= LONG_GROUP, 2.0 if inner else 1.0, 0.0)), stream


LOWER: dict[str, Callable[[Op], Sequence[Kernel]]] = {
    "linear": matrix, "matmul": matrix, "bmm": matrix, "conv2d": conv2d, "batch_norm": batch_norm, "group_norm": group_norm,
    "attention": attention, "layer_norm": rowwise, "rms_norm": rowwise, "softmax": rowwise, "log_softmax": rowwise,
    "sum": reduction, "mean": reduction, "amax": reduction, "argmax": reduction, "var": reduction, "pad": pad,
    "avg_pool2d": pool, "max_pool2d": pool, "topk": topk, "cumsum": cumsum, "grouped_matmul": grouped_matrix,
    "scatter": scatter,
}  # fmt: skip
# what torch.compile writes itself, also where nothing can be fused to it
WRITTEN: dict[str, Callable[[Op], Sequence[Kernel]]] = dict.fromkeys(("elementwise", "rowwise", "reduction", "movement"), generated)
COMPILED: dict[str, Callable[[Op], Sequence[Kernel]]] = {
    "conv2d": conv2d_compiled, "attention": attention_compiled, "linear": linear_compiled, "matmul": linear_compiled,
    "max_pool2d": generated, "avg_pool2d": generated,
}  # fmt: skip
