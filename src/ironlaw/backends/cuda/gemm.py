"""Matrix products as cuBLAS runs them: by format, by how rows are aligned, split along a deep inner loop where few tiles are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda.chip import balance, filled_tiles, processors, split_tiles
from ironlaw.backends.cuda.evidence import plain
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, multiple, padded
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, ceil, is_array, largest, maximum, minimum, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op
from ironlaw.formats import PRODUCTS_OF_PARTS, computed_in

DEEPEST = 16384.0  # steps of a product's inner loop that were measured; beyond, the library splits it over more of the chip
SPLIT_FROM = 3072  # steps from which a product of few tiles is shared out along its depth
FILLED_FROM, VECTOR = 5e7, 8  # elements of the first matrix from which torch.compile fills its rows up, to a multiple of so many
LARGE = 9.6e6  # outputs from which a second, tiny kernel is launched
# Tiles of cuBLAS's FP32 kernels: side, rate beside the largest one's, and the least time in waves, since a small tile's multiply-adds
# wait for one another until a second one shares its multiprocessor. Read off 136 products on an H200 whose kernels name their tiles:
# 52, 39 and 17 TFLOP/s, whatever the product, once every tile of every wave is counted.
FP32_TILES = ((128, 1.0, 1.0), (64, 0.75, 1.5), (32, 0.33, 2.0))
SHARED_OUT = ((1, 1.0), (2, 1.5), (4, 2.25), (8, 3.4))  # parts along the depth, and what they cost: fitted to the rows with few tiles
# A weight's gradient sums over every row of the batch: cuBLAS gives each multiprocessor an equal share of that depth, whatever the tiles,
# and a second kernel joins the shares (160 such products, evidence h200_sxm/own_operators).
SHARED_FROM = 1024
SHARE_TILE, LEAST_SHARE = 64, 100.0  # side of a tile, and steps below which no share goes
THIN = 16  # rows up to which a product in FP32 takes a kernel of its own (gemmSN)
THIN_DEPTH = 4096.0  # steps that one block of such a product in a batch goes; a longer way is shared out
FILLED = 8  # elements of two bytes that fill a vector
SMALL, MANY, SMALL_TILE, MOST_BLOCKS = 4096, 1024, 16, 65535  # multiply-adds of a small product, how many are many; side; one launch's
# a block for each small matrix, or each tile of it, costs what it does, whatever is in it
SMALL_CURVES = {"fp16": "bmm_small", "bf16": "bmm_small", "fp32": "bmm_small_fp32"}
UNPROFILED = ("fp8", "int8")  # formats that no profile covers


def gemm_curve(dtype: str, sizes: Sequence[Number]) -> str:
    """The curve's name, by format and, in two-byte formats, by the rows' alignment."""
    if dtype not in ("fp16", "bf16"):
        return f"gemm_{dtype}"
    if all(multiple(size, 8) for size in sizes):
        return "gemm"
    return "gemm_even" if all(multiple(size, 2) for size in sizes) else "gemm_odd"


def bmm_curve(dtype: str, sizes: Sequence[Number]) -> str:
    """The curve's name, by alignment in FP32 too, because its vectors hold four elements."""
    if dtype == "fp32":
        return "bmm_fp32" if all(multiple(size, 4) for size in sizes) else "bmm_fp32_odd"
    return gemm_curve(dtype, sizes).replace("gemm", "bmm")


def occupied(m: Number, n: Number, k: Number, batch: Number, machine: Hardware) -> Number:
    """FLOPs that the chip could do in FP32 while a product keeps it: its last wave leaves multiprocessors idle, its edges fill no tile."""
    chip = processors(machine)
    best: Number = float("inf")
    for side, rate, least in FP32_TILES:
        tiles = batch * ceil(m / side) * ceil(n / side)
        for parts, cost in SHARED_OUT:
            waves = maximum(ceil(tiles * parts / chip), least)
            best = minimum(best, waves * chip * 2.0 * side * side * k * cost / (parts * rate))
    return best


def tiles_of(m: Number, n: Number) -> Number:
    """The number of tiles at the smallest side that a deep product is cut into."""
    return ceil(m / SHARE_TILE) * ceil(n / SHARE_TILE)


def fp32(
    kernel: Kernel, sizes: tuple[Number, Number, Number], batch: Number, machine: Hardware, gradient: bool = False
) -> Sequence[Kernel]:
    """A product of m × n × k in FP32, outside the tensor cores, or a batch of them: of a vector, of few rows, or in tiles; the `gradient`
    of a weight, where the batch is deep, in equal shares of it."""
    m, n, k = sizes
    batched = kernel.curve.startswith("bmm")
    few, chip = minimum(m, n) if batched else m, processors(machine)
    rows, row = ("bmm_fp32_thin", "bmv_fp32") if batched else ("gemm_fp32_thin", "gemv_fp32")
    tiles = tiles_of(m, n)
    vector = where(minimum(m, n) == 1, 1.0, 0.0)
    shared = (1.0 - vector) * where((k >= SHARED_FROM) & (tiles < 2.0 * chip), 1.0, 0.0) if gradient else 0.0
    thin = (1.0 - shared) * where(few <= THIN, 1.0, 0.0) * (1.0 - vector)
    tiled = replace(kernel, flops=occupied(m, n, k, batch, machine), count=1.0 - thin - vector - shared)
    walked = replace(kernel, depth=minimum(kernel.depth, THIN_DEPTH)) if batched else kernel
    kernels = tiled, replace(walked, curve=rows, count=thin), replace(kernel, curve=row, count=vector)
    if not gradient:
        return kernels
    flops = 2.0 * SHARE_TILE * SHARE_TILE * tiles * k
    shares = Kernel("gemm_fp32_shared", kernel.data, flops, depth=tiles * k / chip, count=shared)
    return *kernels, shares, Kernel("tiny", 0.0, count=shared)


def unaligned(kernel: Kernel, m: Number, n: Number, k: Number, machine: Hardware) -> Sequence[Kernel]:
    """In a two-byte format, rows that fill no vector: where few tiles are deep, the depth is shared out over the chip."""
    if not is_array(k) and k < SHARED_FROM:
        return (kernel,)
    tiles = tiles_of(m, n)
    split = where((tiles <= split_tiles(machine)) & (k >= SHARED_FROM), 1.0, 0.0)
    parts = minimum(maximum(filled_tiles(machine) / tiles, 1.0), k / LEAST_SHARE)
    return replace(kernel, depth=kernel.depth / where(split > 0, parts, 1.0)), Kernel("tiny", 0.0, count=split)


def matrix(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A product, or a batch of them; many small ones take a kernel of their own."""
    x, y = op.inputs[0], op.outputs[0]
    kernels = product(op, machine)
    if not (op.kind == "bmm" or len(op.inputs[1].shape) > 2) or op.dtype not in SMALL_CURVES:
        return kernels
    n, m, k = y.shape[-1], y.shape[-2], x.shape[-1]
    batch = y.size / (m * n)
    if op.dtype != "fp32" and not is_array(m, n, batch) and min(m, n) == 1 and batch >= MANY:
        return _many_vectors(op, batch, k, max(m, n))
    small = where((m > 1) & (m * n * k <= SMALL) & (batch >= MANY), 1.0, 0.0)
    if not largest(small):
        return kernels
    launches = ceil(batch / MOST_BLOCKS)
    blocks = batch * ceil(m / SMALL_TILE) * ceil(n / SMALL_TILE)
    own = Kernel(SMALL_CURVES[op.dtype], op.work.bytes / launches, rows=blocks / launches, count=small * launches)
    return *(replace(kernel, count=kernel.count * (1.0 - small)) for kernel in kernels), own


def _many_vectors(op: Op, batch: float, k: float, long: float) -> Sequence[Kernel]:
    """A matrix times a vector, again and again, in two bytes: a block for each tile of its rows, or, where they fill no vectors, for each
    matrix (gemvx)."""
    launches = ceil(batch / MOST_BLOCKS)
    whole = multiple(k, FILLED) and multiple(long, FILLED)
    curve, blocks = ("bmv", batch * ceil(long / SHARE_TILE)) if whole else ("bmv_odd", batch)
    return (Kernel(curve, op.work.bytes / launches, rows=blocks / launches, count=launches),)


def product(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """linear, matmul, bmm. A small product with a deep inner loop is split along it and summed by a second kernel."""
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    k, n = x.shape[-1], y.shape[-1]
    m = y.size / n
    depth = minimum(k, DEEPEST)
    flops = op.work.matmul_flops * (1.0 if computed_in(op.dtype) == op.dtype else PRODUCTS_OF_PARTS)
    kernel = Kernel(gemm_curve(op.dtype, (k, n)), op.work.bytes, flops, depth=depth)
    batched = op.kind == "bmm" or len(w.shape) > 2
    if batched:
        kernel, second = (
            replace(kernel, curve=bmm_curve(op.dtype, (k, n))),
            where(m * n > LARGE, 1.0, 0.0) if kernel.curve == "gemm" else 0.0,
        )
        if op.dtype == "fp32":
            return fp32(kernel, (y.shape[-2], n, k), m / y.shape[-2], machine)
        return kernel, Kernel("tiny", 0.0, count=second)
    if op.dtype == "fp32":
        return fp32(kernel, (m, n, k), 1.0, machine, gradient=op.kind == "matmul")
    if op.dtype in ("fp16", "bf16") and kernel.curve != "gemm":
        return unaligned(kernel, m, n, k, machine)
    if kernel.curve != "gemm":
        return (kernel,)
    tiles = (n / 64) * ((m + 15) // 16)
    split = where((tiles <= split_tiles(machine)) & (k >= SPLIT_FROM), 1.0, 0.0)
    second = where(m * n > LARGE, 1.0, split)
    depth = depth * (1.0 - split * (1.0 - minimum(tiles / filled_tiles(machine), 1.0)))
    paired = (1.0 - split) * where((m < 8) & ((n + 63) // 64 == 16), 1.0, 0.0)
    plain, pair = replace(kernel, depth=depth, count=1.0 - paired), replace(kernel, curve="gemm_pair", count=paired)
    return plain, pair, Kernel("tiny", 0.0, count=second)


def padded_product(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Rows that fill no vector are filled up with zeros where that is faster, as torch.compile finds by trying: where they are odd and
    arithmetic is the bottleneck, or the first matrix is very large. It is copied if its own rows are odd; the weight always is."""
    plain, *rest = matrix(op, machine)
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    k, n = x.shape[-1], y.shape[-1]
    if plain.curve not in ("gemm_even", "gemm_odd") or (not is_array(n) and n == 1):
        return plain, *rest
    bound = (plain.curve == "gemm_odd") & (y.size * k > balance(machine, op.dtype) * (x.size + w.size + y.size))
    pays = where(bound | (x.size >= FILLED_FROM), 1.0, 0.0)
    wide, deep = padded(n, VECTOR), padded(k, VECTOR)
    grown = wide * deep / (n * k)
    data = x.bytes * deep / k + w.bytes * grown + y.bytes * wide / n
    return (
        replace(plain, count=plain.count * (1.0 - pays)), *(replace(other, count=other.count * (1.0 - pays)) for other in rest),
        Kernel("gemm", data, op.work.matmul_flops * grown, depth=minimum(deep, DEEPEST), count=pays),
        Kernel("fused", x.bytes * (1.0 + deep / k), count=pays * where(deep > k, 1.0, 0.0)), Kernel("copy", 2 * w.bytes, count=pays),
    )  # fmt: skip


def matmul_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """In a format that no profile covers: replayed in a graph, or called when a call far outlasts a launch."""
    kernels = matrix(OPS[row.op](row.params), machine)
    yield from plain(row, kernels, row.busy_s or _unprofiled_seconds(row))


def bmm_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """Odd ones are run by the kernels of 1×1 convolutions on odd planes, of which there are few rows."""
    for sample in plain(row, matrix(OPS[row.op](row.params), machine), row.busy_s):
        yield sample
        if sample.kernel.curve == "bmm_odd":
            yield replace(sample, kernel=replace(sample.kernel, curve="conv_1x1_odd"))


def _unprofiled_seconds(row: Row) -> float | None:
    if row.dtype not in UNPROFILED:
        return None
    return row.graph_s or (row.wall_s if row.wall_s and row.wall_s > 2e-4 else None)


EAGER = {"linear": matrix, "matmul": matrix, "bmm": matrix}
COMPILED = {"linear": padded_product, "matmul": padded_product}
ROWS = {"matmul": matmul_samples, "bmm": bmm_samples}
FALLBACK = {
    "gemm_tf32": "gemm", "gemm_fp8": "gemm", "gemm_int8": "gemm", "bmm": "gemm", "bmm_even": "gemm_even", "bmm_odd": "gemm_odd",
    "bmm_fp32": "gemm_fp32", "bmm_fp32_odd": "bmm_fp32", "bmm_tf32": "gemm_tf32", "gemm_pair": "gemm", "bmm_fp8": "gemm_fp8",
    "bmm_int8": "gemm_int8", "bmm_small": "bmm_odd", "bmv": "bmm_small", "bmv_odd": "bmm_small", "bmm_small_fp32": "bmm_fp32_odd",
    "gemm_fp32_shared": "gemm_fp32", "gemm_fp32_thin": "gemm_fp32", "gemv_fp32": "gemm_fp32_thin", "bmm_fp32_thin": "gemm_fp32_thin",
    "gemm_fp64": "gemm_fp32", "bmm_fp64": "gemm_fp32", "gemm_int64": "gemm_fp32", "bmm_int64": "gemm_fp32",
    "gemm_complex64": "bmm_complex64", "bmm_complex64": "gemm_fp32", "gemm_complex128": "gemm_fp64", "bmm_complex128": "gemm_fp64",
}  # fmt: skip
