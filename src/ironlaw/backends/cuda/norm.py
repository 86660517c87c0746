"""Norms, softmax and reductions on a CUDA device: rows or planes, each with a cost of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log2

from ironlaw.backends.cuda.chip import processors
from ironlaw.backends.cuda.evidence import by_name, plain, seconds_of
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, launched
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import MANY_COLUMNS, beside, normed, over_planes
from ironlaw.engine.arrays import Number, ceil, is_array, largest, minimum, smallest, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op
from ironlaw.engine.device.work import SMALL_REDUCTION
from ironlaw.engine.device.work import op as make_op

WARP_ROW, LONG_WARP_ROW = 1024, 2048  # elements of a row that softmax gives to one warp; beyond the first it has half as many warps
GROUP_KERNELS = "group_norm"  # in the names of kernels that torch.compile writes for one
# nodes that an op becomes in the compiler's graph (`cuda.layout`), and instructions for an element (`cuda.generated`)
NODES = {"batch_norm": 15, "layer_norm": 14, "group_norm": 16, "rms_norm": 9, "softmax": 7}
INSTRUCTIONS = {"batch_norm": 26.0, "layer_norm": 8.0, "rms_norm": 6.0, "softmax": 21.0, "log_softmax": 30.0}
WARP = 32.0  # threads
WIDEST, COUNTED = 8.0, ("bool", "uint8", "int8")  # bytes of a whole number that counts, and what is made so wide on the way
BLOCK, NARROW = 1024, 64  # threads that go down columns, and how many columns share them along their length (ATen, `SpatialSoftMax`)
FEW_DOWN = 256  # elements down a column that one thread adds up
FEW_SUMS = 2.0  # sums for each multiprocessor below which several blocks share one, and a second kernel joins them
MANY_ROWS = 1024  # from which a sum down the columns is shared out over blocks, whose counters are cleared first


def rowwise(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A block goes through its row by itself, so that few long ones take as long as one does: about a nanosecond for each element of a
    row, until there are so many rows that memory is the bottleneck."""
    row = op.attrs.get("row", normed(op, op.inputs[0]))
    return (Kernel(op.kind, op.work.bytes, rows=op.inputs[0].size / row, depth=row),)


def softmax(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Along the last axis; down another one each thread goes through its columns three times, for maximum, sum and result."""
    x = op.inputs[0]
    row = op.attrs.get("row", x.shape[-1])
    if "axis" in op.attrs:
        return down(op, row)
    return softmax_kernels(op.work.bytes, op.work.flops, x.size / row, row, FORMATS[x.dtype])


def down(op: Op, row: Number) -> Sequence[Kernel]:
    """A thread goes down its column three times, for maximum, sum and result, or twice for a gradient; where few columns lie beside each
    other, several threads share one. A softmax's gradient is first multiplied with the result."""
    x = op.inputs[0]
    _, _, inner = beside(op)
    threads = 1.0
    if largest(inner) <= NARROW <= smallest(row):
        threads = 2.0 ** (min(int(log2(BLOCK / largest(inner))), int(log2(largest(row)))))
    depth = ceil(row / threads)
    if "backward" not in op.attrs:
        return (Kernel("softmax_columns", op.work.bytes + 2 * x.bytes, depth=depth),)
    main = Kernel("softmax_columns_backward", op.work.bytes + 2 * x.bytes, depth=depth)
    return (main, Kernel("mul", 3 * x.bytes)) if op.attrs["backward"] == "softmax" else (main,)


def softmax_kernels(data: Number, flops: Number, rows: Number, row: Number, size: float) -> tuple[Kernel, ...]:
    """A warp holds a row of up to 2,048 elements in its registers, half as fast beyond 1,024; a longer row takes a block."""
    suffix = "_fp32" if size >= 4 else ""
    lengths = {
        "softmax": row <= WARP_ROW, "softmax_2048": (row > WARP_ROW) & (row <= LONG_WARP_ROW), "softmax_block": row > LONG_WARP_ROW,
    }  # fmt: skip
    return launched(Kernel(name + suffix, data, flops, rows, count=where(taken, 1.0, 0.0)) for name, taken in lengths.items())


def reduction(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Along rows, or down columns; over the whole tensor, blocks sum their parts and a second kernel joins them."""
    if op.kind == "sum" and op.inputs[0].dtype in (*COUNTED, "int32") and "axis" not in op.attrs:
        x = op.inputs[0]  # made as wide as what it is counted in
        wide = make_op("sum", op.name, [replace(x, dtype="int64")], op.outputs, **op.attrs)
        return Kernel("cast_up", x.bytes + WIDEST * x.size, rows=x.size), *reduction(wide, machine)
    if sums_columns(op):
        if over_planes(op):
            return of_planes(op.work.bytes, op.inputs[0].size, op.outputs[0].size, machine)
        depth, columns = op.inputs[0].size / op.outputs[0].size, op.outputs[0].size
        data = op.work.bytes
        if op.kind == "sum" and op.inputs[0].dtype in COUNTED:
            data = data + (WIDEST - 1.0) * op.inputs[0].size
        alone = where((columns >= MANY_COLUMNS) | (depth <= FEW_DOWN), 1.0, 0.0)
        shared = (1.0 - alone) * where(depth >= MANY_ROWS, 1.0, 0.0)
        return (
            Kernel("sum_down", data, rows=columns, depth=depth, count=alone),
            Kernel("sum_columns", data, depth=depth, count=1.0 - alone), Kernel("tiny", 0.0, count=shared),
        )  # fmt: skip
    if op.attrs.get("over", "row") == "row":
        results = op.outputs[0].size
        threads = minimum(op.inputs[0].size / results / WARP, 1.0)  # a warp sums a row of 32 or more, a few threads a shorter one
        return (Kernel(op.kind, op.work.bytes, op.work.flops, results * threads),)
    return Kernel("sum_all", op.work.bytes, op.work.flops), joining(op)


def of_planes(data: Number, size: Number, sums: Number, machine: Hardware) -> Sequence[Kernel]:
    """Sums over what lies innermost and outermost, as of each channel of images: an element takes its time whatever its width."""
    shared = where((sums < FEW_SUMS * processors(machine)) & (size / sums >= MANY_ROWS), 1.0, 0.0)
    return Kernel("sum_planes", data, rows=size), Kernel("tiny", 0.0, count=shared)


def joining(op: Op) -> Kernel:
    return Kernel("tiny", 0.0, count=where(op.inputs[0].size > SMALL_REDUCTION, 1.0, 0.0))


def cross_entropy(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Logarithms of the shares, written; then one of each row is picked, by a single block."""
    x, size = op.inputs[0], FORMATS[op.inputs[0].dtype]
    rows = x.size / x.shape[-1]
    return (*softmax_kernels(2 * x.bytes, 5.0 * x.size, rows, x.shape[-1], size), Kernel("nll_loss", 0.0, depth=rows))


def nll_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    if seconds := seconds_of(row, ("nll_loss",)):
        yield Sample(Kernel("nll_loss", 0.0, depth=row.params["rows"]), seconds)


def sums_columns(op: Op) -> bool:
    """Whether it sums down the columns: then each thread does so by itself, and it is a stream."""
    return "axis" in op.attrs and op.attrs.get("over", "row") == "row"


def batch_norm(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Copy of the statistics, inverse deviation, transform, whose planes cost by themselves; where a channel is one number it has none.
    In FP32 cuDNN has one kernel for all of it.
    """
    n, c, *sides = op.inputs[0].shape
    if op.dtype == "fp32" and sides:
        return (Kernel("batch_norm_fp32", op.work.bytes, op.work.flops, n * c),)
    flat = all(not is_array(size) and size == 1 for size in sides)
    plane = Kernel("batch_norm", op.work.bytes, rows=n * c, depth=op.inputs[0].size / (n * c))  # a block walks its plane
    main = Kernel("broadcast", op.work.bytes, rows=op.inputs[0].size) if flat else plane
    return main, Kernel("tiny", 0.0, count=2.0)


def group_norm(op: Op, machine: Hardware) -> Sequence[Kernel]:
    x = op.inputs[0]
    groups = op.attrs.get("groups", 32.0)
    each = x.size / (x.shape[0] * groups)  # one block sums a group by itself, so a long group takes long
    return Kernel("group_norm", op.work.bytes, depth=each), Kernel("broadcast", op.work.bytes, rows=x.size), Kernel("tiny", 0.0)


def batch_norm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The longest kernel is the transform; the other two are tiny."""
    if not row.busy_s:
        return
    main, *others = batch_norm(OPS[row.op](row.params), machine)
    if not others:
        yield Sample(main, row.busy_s)
        return
    rest = sum(sorted((k.seconds for k in row.kernel_times), reverse=True)[1:])
    yield Sample(replace(main, count=1.0), row.busy_s - rest)
    yield Sample(Kernel("tiny", 0.0), rest / 2)


def group_norm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The kernel that sums; the others are streams."""
    sums = [k.seconds for k in row.kernel_times if "elementwise" not in k.name]
    if sums and row.busy_s:
        yield Sample(group_norm(OPS[row.op](row.params), machine)[0], max(sums))


def down_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    kernels = launched(reduction(OPS[row.op](row.params), machine))
    return by_name(row, kernels, {"reduce_kernel": kernels[0].curve})


def layer_norm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """Rows that fill no vector take other kernels, and one row is not enough for a curve."""
    if (row.kernels or 1) <= 1:
        yield from plain(row, rowwise(OPS[row.op](row.params), machine), row.busy_s)


EAGER = {
    "layer_norm": rowwise, "rms_norm": rowwise, "softmax": softmax, "log_softmax": softmax, "batch_norm": batch_norm,
    "group_norm": group_norm, "cross_entropy": cross_entropy, **dict.fromkeys(("sum", "mean", "amax", "argmax", "var"), reduction),
}  # fmt: skip
ROWS = {
    "batch_norm": batch_norm_samples, "group_norm": group_norm_samples, "layer_norm": layer_norm_samples, "cross_entropy": nll_samples,
    "sum_columns": down_samples,
}  # fmt: skip
FALLBACK = {
    "sum_planes": "sum_columns",
    "sum_down": "broadcast", "softmax_columns_backward": "softmax_columns",
    "group_norm": "layer_norm", "softmax_columns": "strided_columns", "var": "mean", "amax": "sum", "nll_loss": "sum_columns",
    "sum_columns": "sum", "batch_norm_fp32": "batch_norm",
    **dict.fromkeys(("softmax_2048", "softmax_block", "softmax_fp32", "softmax_2048_fp32", "softmax_block_fp32"), "softmax"),
}  # fmt: skip
