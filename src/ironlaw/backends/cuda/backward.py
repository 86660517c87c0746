"""What PyTorch launches on a CUDA device for a training step: gradients, and an optimiser's passes over its lists of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from ironlaw.backends.cuda.chip import outgrown
from ironlaw.backends.cuda.conv import GROUP_TILE
from ironlaw.backends.cuda.evidence import by_name, named, plain
from ironlaw.backends.cuda.norm import MANY_ROWS, of_planes
from ironlaw.backends.cuda.pointwise import multiplies_backward, pointwise_backward, wanted
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, multiple
from ironlaw.backends.multi_tensor import BLOCK_ELEMENTS
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import FEW_PLANES, normed, oblong, over_groups
from ironlaw.engine.arrays import Number, maximum, minimum, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op, Tensor
from ironlaw.engine.device.work import with_attrs

LONG_AGO = 0.45  # of what a batch norm's gradient reads comes from main memory: chosen so that twenty profiled steps agree, not fitted
WALKED = 3072  # tokens up to which an embedding's gradient is not sorted (ATen/native/cuda/Embedding.cu)
INDEX_BYTES = 8.0
# Of a depthwise convolution on NHWC in four bytes: up to so many taps cuDNN has a kernel for all channels at once. Beyond, it goes group by
# group, so many times as long as PyTorch's own on NCHW: 3.0 to 4.5 for five shapes (benchmarks/step_costs.json).
MOST_TAPS, GROUP_BY_GROUP = 25, 3.6
VECTOR = 8  # channels that fill 16 bytes in two-byte formats
ADAMW = (2, 3, 2, 4, 2, 2, 2, 4)  # tensors read and written by its eight passes: decay, mean, square, …


def conv_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A convolution for each gradient that is wanted; each converts its own operands and its result, unless they are NHWC. Those of a
    depthwise convolution on NCHW are PyTorch's own and convert nothing.
    """
    sums = reduction_of_bias(op.inputs[0], machine, op.attrs.get("layout") == "nhwc")
    return (*_convolutions(op, machine), *(sums if op.attrs.get("bias") else ()))


def conv_backward_compiled(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Where torch.compile lays images out as NHWC, it does so on the way back, too; seen for depthwise convolutions."""
    x, w = op.inputs[1:3]
    turned = w.shape[1] == 1 and x.shape[1] > 1 and op.attrs.get("layout") != "nchw"
    return conv_backward(with_attrs(op, layout="nhwc") if turned else op, machine)


def reduction_of_bias(gradient: Tensor, machine: Hardware, nhwc: bool) -> Sequence[Kernel]:
    """A bias is added to every pixel of a channel: its gradient is their sum."""
    pixels = gradient.size / gradient.shape[1]
    if nhwc:
        return Kernel("sum_columns", gradient.bytes, depth=pixels), Kernel("tiny", 0.0, count=where(pixels >= MANY_ROWS, 1.0, 0.0))
    return of_planes(gradient.bytes, gradient.size, gradient.shape[1], machine)


def _convolutions(op: Op, machine: Hardware) -> Sequence[Kernel]:
    gradient, x, w = op.inputs
    n, plane = gradient.shape[0], gradient.shape[2] * gradient.shape[3]
    of_input, of_weight = wanted(op)
    each, data = op.work.matmul_flops / (of_input + of_weight), gradient.bytes + x.bytes + w.bytes
    nhwc = op.attrs.get("layout") == "nhwc"
    taps = w.shape[2] * w.shape[3]
    if w.shape[1] == 1 and x.shape[1] > 1 and not nhwc:
        moved = data * max(4.0 / FORMATS[x.dtype], 1.0)  # as long in two bytes as in four
        kernel = Kernel("depthwise_backward", moved, each, depth=taps)
        return replace(kernel, count=of_input), replace(kernel, curve="depthwise_wgrad", count=of_weight)
    if w.shape[1] == 1 and x.shape[1] > 1:
        form = "_oblong" if oblong(op) else ""
        kernel = Kernel(f"depthwise_nhwc_dgrad{form}", data, each, depth=taps, count=of_input)
        if taps > MOST_TAPS and FORMATS[x.dtype] >= 4.0 and not form:
            far = Kernel("depthwise_wgrad", GROUP_BY_GROUP * data, GROUP_BY_GROUP * each, depth=taps, count=of_weight)
            return kernel, far
        summed = Kernel("tiny", 0.0, count=of_weight)  # in parts
        form = form if FORMATS[x.dtype] < 4.0 else ""
        return kernel, replace(kernel, curve=f"depthwise_nhwc_wgrad{form}", count=of_weight), summed
    fmt = "" if op.dtype in ("fp16", "bf16") else f"_{op.dtype}"
    if multiplies_backward(x, w, gradient, op.dtype) and not nhwc:
        return pointwise_backward(op, machine)
    per_group = w.shape[1]
    if 1 < per_group < x.shape[1]:
        each = each * (maximum(per_group, GROUP_TILE) / per_group)  # a tile's channels are filled up with zeros
    odd = x.shape[1] > FEW_PLANES and not all(multiple(channels, VECTOR) for channels in w.shape[:2])  # filled up first
    k = 0.0 if taps == 1 and not odd else 1.0
    turned = 0.0 if nhwc else of_input + of_weight
    return (
        Kernel(f"conv_dgrad{fmt}", data, each, depth=w.shape[0] * taps, count=of_input),
        Kernel(f"conv_wgrad{fmt}", data, each, depth=n * plane, count=of_weight),
        Kernel("layout", 2 * gradient.bytes, rows=n * gradient.shape[1], count=turned),
        Kernel("layout", 2 * x.bytes, rows=n * x.shape[1], count=turned),
        Kernel("layout_weight", 2 * w.bytes, count=k * turned), Kernel("tiny", 0.0, count=4.0 if odd else 1.0),
    )  # fmt: skip


def norm_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """One kernel for the input's gradient, one for those of gain and shift, which walks down the rows."""
    gradient, x = op.inputs[0], op.inputs[1]
    rows = x.size / normed(op, x)
    data = gradient.bytes + x.bytes
    if over_groups(op):  # of groups: sums for each plane, which are joined; then a stream
        planes = x.shape[0] * x.shape[1]
        stream = Kernel("broadcast", data + op.outputs[0].bytes, rows=x.size)
        return Kernel("mean", data, rows=planes), stream, Kernel("tiny", 0.0, count=3.0)
    own = Kernel("layer_norm_backward", data + op.outputs[0].bytes, rows=rows, depth=normed(op, x))
    return own, Kernel("layer_norm_weights", data, depth=rows)


def batch_norm_train(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Statistics, a block for each channel; their running means; the transform, as in inference. Where a channel is a column, its sums
    are those of columns. In FP32 cuDNN has one kernel for all of it, as for its gradient.
    """
    x = op.inputs[0]
    n, c, *plane = x.shape
    if not plane:
        return Kernel("sum_columns", x.bytes, depth=n), Kernel("tiny", 0.0), Kernel("broadcast", 2 * x.bytes, rows=x.size)
    depth = x.size / c * (1.0 + outgrown(x.bytes, machine))
    if op.dtype == "fp32":
        return (Kernel("batch_norm_train_fp32", op.work.bytes, rows=c, depth=depth),)
    return (
        Kernel("batch_norm_stats", x.bytes, rows=c, depth=depth), Kernel("tiny", 0.0),
        Kernel("batch_norm", op.work.bytes, rows=n * c, depth=x.size / (n * c)),
    )  # fmt: skip


def batch_norm_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A block for each channel goes through gradient and input twice; what comes from main memory takes it twice as long. In a step the
    input does: it was written long ago. Columns are summed as columns are.
    """
    gradient, x = op.inputs[0], op.inputs[1]
    read = gradient.bytes + x.bytes
    if len(x.shape) == 2:
        return Kernel("sum_columns", read, depth=x.shape[0]), Kernel("broadcast", read + op.outputs[0].bytes, rows=op.outputs[0].size)
    fetched = maximum(outgrown(read, machine), 0.0 if op.attrs.get("hot") else LONG_AGO)
    depth = x.size / x.shape[1] * (1.0 + fetched)
    if x.dtype == "fp32" and "hot" not in op.attrs:
        return (Kernel("batch_norm_backward_fp32", read + op.outputs[0].bytes, rows=x.shape[1], depth=depth),)
    return (Kernel("batch_norm_backward", 2 * read + op.outputs[0].bytes, rows=x.shape[1], depth=depth),)


def max_pool_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Filled, then a thread for each element of the input looks which windows chose it."""
    y = op.outputs[0]
    return (Kernel("fill", y.bytes), Kernel("max_pool2d_backward", op.work.bytes, rows=y.size))


def embedding_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Filled; then each block walks all tokens for the features that are its own. Many tokens are sorted by their row first, eight passes
    over all digits, so that each row is summed in one place; what is set up and cleared around that are small kernels.
    """
    gradient, table = op.inputs[0], op.outputs[0]
    tokens = op.inputs[1].size
    sorted_ = where(tokens > WALKED, 1.0, 0.0)
    return (
        Kernel("fill", table.bytes), Kernel("embedding_backward", 2 * gradient.bytes, depth=tokens, count=1.0 - sorted_),
        Kernel("sort_pass", 4 * INDEX_BYTES * tokens, count=8.0 * sorted_), Kernel("tiny", 0.0, count=20.0 * sorted_),
        Kernel("embedding_backward_sorted", 2 * gradient.bytes, rows=tokens, count=sorted_),
    )  # fmt: skip


def foreach(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Four elements at a time, whatever their width: each costs by itself, beside its bytes. A block goes through its part of a tensor,
    and no launch is shorter than that takes.
    """
    count = op.work.launches
    longest = reduce(maximum, (t.size for t in op.outputs), 0.0)
    return (_launch(op.work.bytes / count, op.inputs[0].dtype, longest, op.work.flops / count, count),)


def _launch(data: Number, dtype: str, longest: Number, flops: Number = 0.0, count: Number = 1.0) -> Kernel:
    return Kernel("foreach", data, flops, rows=data / FORMATS[dtype], depth=minimum(longest, BLOCK_ELEMENTS), count=count)


def adamw_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The mean launch of a step: a list of tensors at a time, pass by pass."""
    p, launches = row.params, row.kernels
    if launches and row.busy_s:
        data = FORMATS[p["dtype"]] * p["tensors"] * p["size"] * sum(ADAMW) / launches
        yield Sample(_launch(data, p["dtype"], p.get("largest", p["size"])), row.busy_s / launches)


CONVOLUTION = {  # word in a kernel's name -> curve; a weight's gradient that is a product is summed in FP32: hss, tss, s16816
    "dgrad": "conv_dgrad", **dict.fromkeys(("wgrad", "_hss_", "_tss_", "tensorop_s1"), "conv_wgrad"),
    "depthwise2d_backward": "depthwise_backward", "depthwise2d_grad_weight": "depthwise_wgrad",
    "dgrad2d_c1": "depthwise_nhwc_dgrad", "wgrad2d_c1": "depthwise_nhwc_wgrad",
}  # fmt: skip


def batch_norm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """PyTorch's kernels by their names; in FP32 cuDNN's one kernel."""
    kernels = batch_norm_train(OPS[row.op](row.params), machine)
    if len(kernels) == 1:
        return plain(row, kernels, row.busy_s)
    return by_name(row, kernels, {"collect_statistics": "batch_norm_stats", "transform_input": kernels[-1].curve})


def norm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    kernels = norm_backward(OPS[row.op](row.params), machine)
    return by_name(row, kernels, {"GammaBeta": "layer_norm_weights", "grad_input": kernels[0].curve})


def conv_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The samples by the names of its kernels; a format outside the two-byte ones has curves of its own."""
    op = OPS[row.op](row.params)
    fmt = "" if op.dtype in ("fp16", "bf16") else f"_{op.dtype}"
    curves = {word: curve + (fmt if curve.startswith("conv_") else "") for word, curve in CONVOLUTION.items()}
    return by_name(row, conv_backward(op, machine), curves)


EAGER = {
    "foreach": foreach, "conv_backward": conv_backward, "norm_backward": norm_backward,
    "batch_norm_train": batch_norm_train, "batch_norm_backward": batch_norm_backward, "max_pool2d_backward": max_pool_backward,
    "embedding_backward": embedding_backward,
}  # fmt: skip
COMPILED = {"foreach": foreach, "conv_backward": conv_backward_compiled}  # an optimiser's lists are not compiled with the model
ROWS = {
    "adamw": adamw_samples,
    "layer_norm_backward": norm_samples,
    **dict.fromkeys(("conv_backward", "conv2d_backward"), conv_samples),
    "batch_norm_train": batch_norm_samples,
    "max_pool2d_backward": named(max_pool_backward, {"max_pool_backward": "max_pool2d_backward"}),
    "embedding_backward": named(
        embedding_backward,
        {"embedding_backward": "embedding_backward", "Onesweep": "sort_pass"}
        | dict.fromkeys(("krn_partial", "grad_weight", "sum_and_scatter"), "embedding_backward_sorted"),
    ),
}
FALLBACK = {
    "conv_dgrad": "conv", "conv_wgrad": "conv", "depthwise_backward": "depthwise_fp32", "depthwise_wgrad": "depthwise_fp32",
    "depthwise_nhwc_dgrad": "depthwise_nhwc", "depthwise_nhwc_wgrad": "depthwise_nhwc",
    **{f"conv_{name}grad_{fmt}": f"conv_{fmt}" for name in "dw" for fmt in ("tf32", "fp32")},
    "layer_norm_backward": "layer_norm", "layer_norm_weights": "fused_rows",
    "batch_norm_train_fp32": "batch_norm_backward", "batch_norm_backward_fp32": "batch_norm_backward",
    "batch_norm_stats": "fused_reduction", "batch_norm_backward": "fused_reduction", "gelu_backward": "gelu",
    "embedding_backward": "embedding", "embedding_backward_sorted": "embedding", "max_pool2d_backward": "max_pool2d",
}  # fmt: skip
