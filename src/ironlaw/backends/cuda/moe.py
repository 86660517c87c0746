"""What PyTorch launches on a CUDA device to send tokens to their experts: choosing, sorting, counting, and one product for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ironlaw.backends.cuda.evidence import named
from ironlaw.backends.kernel import Kernel
from ironlaw.backends.signatures import by_digits
from ironlaw.engine.arrays import is_array, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op

WAITS = 600.0  # steps of a sum down columns that one of a scan takes, which waits for memory: 190 ns on an H200 (4,096 rows of 16)
# What a pass over digits takes for an element and for a row, in bytes that could move meanwhile: 16 selections of own code on an H200
DIGIT, DIGIT_BYTES, ROW_BYTES = 8.0, 13.0, 12000.0
SORTED = (32, 128, 4096)  # elements of a row that a warp sorts, a warp with four each, a block


def topk(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Selected row by row, then sorted. To keep all of a row is to sort it: four small kernels set it up, then a warp takes a
    short row, a block a longer one; what no block holds goes through eight passes over all digits, each with what it clears. Many long
    rows are shared out over blocks, which count digits and go through all of it for each.
    """
    x, kept = op.inputs[0], op.outputs[0]
    width = x.shape[-1]
    rows = x.size / width
    whole = where(kept.size < x.size, 0.0, 1.0)
    few, some, many = (whole * where(width > size, 1.0, 0.0) for size in SORTED)
    if by_digits(x) and kept.size < x.size:
        passes = FORMATS[x.dtype] * 8.0 / DIGIT
        digits = Kernel("add", passes * (DIGIT_BYTES * x.size + ROW_BYTES * rows))
        return digits, Kernel("topk_sort", 0.0, rows=rows), Kernel("tiny", 0.0, count=3.0 * passes + 8.0)
    return (
        Kernel("topk", 0.0, rows=rows, depth=width, count=1.0 - whole), Kernel("topk_sort", 0.0, rows=rows, count=1.0 - few),
        Kernel("sort_short", 2 * x.bytes, count=few - some), Kernel("sort_block", 2 * x.bytes, count=some - many),
        Kernel("sort_pass", 4 * x.bytes, count=8.0 * many), Kernel("tiny", 0.0, count=4.0 * whole + 10.0 * many),
    )  # fmt: skip


def scatter(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Written where an index says; counts of what there is, in fewer places than that, are cleared first."""
    counts = where(op.outputs[0].size < op.inputs[0].size, 1.0, 0.0)
    counted = Kernel("histogram", op.work.bytes, count=counts)
    return (Kernel("scatter", op.work.bytes, count=1.0 - counts), counted, Kernel("tiny", 0.0, count=counts))


def cumsum(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A scan along each row, step by step; down the columns a thread has one to itself. A single row is shared out over the chip, whose
    blocks' state is set up by a kernel before it."""
    x, axis = op.inputs[0], op.attrs.get("axis")
    if axis is not None and not is_array(*x.shape) and prod(x.shape[axis % len(x.shape) :]) == x.shape[axis]:
        x, axis = replace(x, shape=(x.size // x.shape[axis], x.shape[axis])), None  # nothing lies beside it: rows
    if axis is not None:
        return (Kernel("scan_columns", op.work.bytes, depth=WAITS * x.shape[axis]),)
    single = where(x.size <= x.shape[-1], 1.0, 0.0)
    rows = Kernel("scan_rows", op.work.bytes, depth=x.shape[-1], count=1.0 - single)
    return rows, Kernel("cumsum", op.work.bytes, count=single), Kernel("tiny", 0.0, count=single)


def grouped_matrix(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A matrix product for each expert in one launch; a small kernel works out where each begins."""
    name = "grouped_gemm" if op.dtype in ("fp16", "bf16") else f"grouped_gemm_{op.dtype}"
    return (Kernel(name, op.work.bytes, op.work.matmul_flops, depth=op.inputs[1].shape[-1]), Kernel("tiny", 0.0))


EAGER = {"topk": topk, "cumsum": cumsum, "grouped_matmul": grouped_matrix, "scatter": scatter}
ROWS = {
    "topk": named(topk, {"sbtopk::gatherTopK": "topk", "SortKVInPlace": "topk_sort"}),
    **dict.fromkeys(
        ("sort", "sort_rows"), named(topk, {", 32, 4, long": "sort_short", ", 32, long": "sort_block", "Onesweep": "sort_pass"})
    ),
    "grouped_mm": named(grouped_matrix, {"device_kernel": "grouped_gemm"}),
    "cumsum": named(cumsum, {"DeviceScanKernel": "cumsum", "scan_innermost": "scan_rows", "scan_outer": "scan_columns"}),
    "histogram": named(scatter, {"kernelHistogram1D": "histogram"}),
}
FALLBACK = {
    "topk": "softmax", "topk_sort": "softmax", "grouped_gemm": "gemm", "grouped_gemm_fp32": "gemm_fp32", "grouped_gemm_tf32": "gemm_tf32",
    "grouped_gemm_fp64": "gemm_fp32", "grouped_gemm_fp8": "gemm_fp8", "grouped_gemm_int8": "gemm_int8",
    "sort_short": "softmax", "sort_block": "softmax",
    "sort_pass": "embedding", "scatter": "embedding", "histogram": "sum",
    "scan_rows": "softmax", "scan_columns": "sum_columns",
}  # fmt: skip
