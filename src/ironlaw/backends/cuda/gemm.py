"""Matrix products as cuBLAS runs them: by format, by how rows are aligned, split along a deep inner loop where few tiles are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda.chip import balance, filled_tiles, split_tiles
from ironlaw.backends.cuda.evidence import plain
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, multiple
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, minimum, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op

DEEPEST = 16384.0  # steps of a product's inner loop that were measured; beyond, the library splits it over more of the chip
SPLIT_FROM = 3072  # steps from which a product of few tiles is shared out along its depth
LARGE = 9.6e6  # outputs from which a second, tiny kernel is launched
UNPROFILED = ("fp8", "int8")  # formats that no profile covers


def gemm_curve(dtype: str, sizes: Sequence[Number]) -> str:
    """By format and, in two-byte formats, by how the rows are aligned."""
    if dtype not in ("fp16", "bf16"):
        return f"gemm_{dtype}"
    if all(multiple(size, 8) for size in sizes):
        return "gemm"
    return "gemm_even" if all(multiple(size, 2) for size in sizes) else "gemm_odd"


def bmm_curve(dtype: str, sizes: Sequence[Number]) -> str:
    """By alignment in FP32 too, whose vectors hold four elements."""
    if dtype == "fp32":
        return "bmm_fp32" if all(multiple(size, 4) for size in sizes) else "bmm_fp32_odd"
    return gemm_curve(dtype, sizes).replace("gemm", "bmm")


def matrix(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """linear, matmul, bmm. A small product with a deep inner loop is split along it and summed by a second kernel."""
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    k, n = x.shape[-1], y.shape[-1]
    m = y.size / n
    depth = minimum(k, DEEPEST)
    kernel = Kernel(gemm_curve(op.dtype, (k, n)), op.work.bytes, op.work.matmul_flops, depth=depth)
    batched = op.kind == "bmm" or len(w.shape) > 2
    if batched:
        second = where(m * n > LARGE, 1.0, 0.0) if kernel.curve == "gemm" else 0.0
        return replace(kernel, curve=bmm_curve(op.dtype, (k, n))), Kernel("tiny", 0.0, count=second)
    if kernel.curve != "gemm":
        return (kernel,)
    tiles = (n / 64) * ((m + 15) // 16)
    split = where((tiles <= split_tiles(machine)) & (k >= SPLIT_FROM), 1.0, 0.0)
    second = where(m * n > LARGE, 1.0, split)
    depth = depth * (1.0 - split * (1.0 - minimum(tiles / filled_tiles(machine), 1.0)))
    paired = (1.0 - split) * where((m < 8) & ((n + 63) // 64 == 16), 1.0, 0.0)
    plain, pair = replace(kernel, depth=depth, count=1.0 - paired), replace(kernel, curve="gemm_pair", count=paired)
    return plain, pair, Kernel("tiny", 0.0, count=second)


def linear_compiled(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """An odd output width is padded to a multiple of 8 where arithmetic binds: the weight is copied, then the fast kernel runs."""
    kernels = matrix(op, machine)
    if kernels[0].curve in ("gemm_even", "gemm_odd") and op.kind == "linear":
        x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
        pays = where(y.size * x.shape[-1] > balance(machine, op.dtype) * (x.size + w.size + y.size), 1.0, 0.0)
        plain = kernels[0]
        return replace(plain, count=1.0 - pays), replace(plain, curve="gemm", count=pays), Kernel("copy", 2 * w.bytes, count=pays)
    return kernels


def matmul_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """In a format that no profile covers: replayed in a graph, or called when a call far outlasts a launch."""
    kernels = matrix(OPS[row.op](row.params), machine)
    yield from plain(row, kernels, row.busy_s or _unprofiled_seconds(row))


def _unprofiled_seconds(row: Row) -> float | None:
    if row.dtype not in UNPROFILED:
        return None
    return row.graph_s or (row.wall_s if row.wall_s and row.wall_s > 2e-4 else None)


EAGER = {"linear": matrix, "matmul": matrix, "bmm": matrix}
COMPILED = {"linear": linear_compiled, "matmul": linear_compiled}
ROWS = {"matmul": matmul_samples}
FALLBACK = {
    "gemm_tf32": "gemm", "gemm_fp8": "gemm", "gemm_int8": "gemm", "bmm": "gemm", "bmm_even": "gemm_even", "bmm_odd": "gemm_odd",
    "bmm_fp32": "gemm_fp32", "bmm_fp32_odd": "bmm_fp32", "bmm_tf32": "gemm_tf32", "gemm_pair": "gemm", "bmm_fp8": "gemm_fp8",
    "bmm_int8": "gemm_int8",
    "gemm_fp64": "gemm_fp32", "bmm_fp64": "gemm_fp32", "gemm_int64": "gemm_fp32", "bmm_int64": "gemm_fp32",  # int64: complex numbers
}  # fmt: skip
