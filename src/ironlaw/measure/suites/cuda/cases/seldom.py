"""Ops that many models have a few of: functions of each element, moved columns, repeated rows, sorts, films, FP64, complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, conv, linear, square

UNARY = ("exp", "log", "sin", "cos", "erf", "square", "relu6", "sqrt", "abs")
BINARY = ("sub", "div", "maximum", "compare")
SIZES = tuple(2**power for power in (12, 16, 20, 23, 25, 27))
TURNED = [  # batch, rows, columns of what is read
    (16, 256, 96), (16, 3136, 96), (16, 784, 192), (16, 196, 384), (16, 49, 768), (1, 3136, 96), (8, 512, 768), (16, 65536, 96),
    (16, 4096, 768), (16, 1024, 320), (4, 16384, 128), (64, 50, 220), (1, 512, 4096), (8, 197, 197),
]  # fmt: skip
REPEATED = [(1, 4, 512, 128), (8, 4, 512, 128), (8, 8, 512, 128), (8, 512, 128, 512), (1, 7, 2048, 64), (16, 12, 197, 64)]
SORTED = [(64, 512), (4096, 64), (4096, 512), (512, 1000), (16, 32000), (1, 100_000), (2, 8400), (16, 300)]
SUMMED = [(4096, 1000), (16384, 64), (8 * 512, 512), (98304, 49), (512, 32000)]
COLUMNS = [(196, 768), (3136, 96), (16384, 320), (65536, 96), (512, 4096)]
FILMS = [  # channels, frames, side, outputs, kernel in time and in space, steps, padding: those that are flat one way
    (64, 16, 56, 144, 1, 3, 1, 1, 0, 1), (144, 16, 56, 64, 3, 1, 1, 1, 1, 0), (230, 8, 28, 128, 3, 1, 1, 1, 1, 0),
    (128, 8, 28, 288, 1, 3, 1, 1, 0, 1), (3, 16, 224, 96, 2, 4, 2, 4, 0, 0), (3, 16, 224, 768, 2, 16, 2, 16, 0, 0),
    (256, 8, 14, 576, 1, 3, 1, 1, 0, 1), (96, 5, 64, 96, 3, 3, 1, 1, 0, 1), (192, 9, 32, 192, 3, 1, 1, 1, 0, 0),
]  # fmt: skip
PICKED = [(30_000, 16, 2**17), (4096, 128, 2**17), (2**17, 64, 2**19)]  # rows of a table, columns, rows that are picked
SHORT = [(2**20, 32), (2**17, 64), (2**18, 7)]  # rows, columns
THIN = [(8, 16, 16, 16384), (64, 8, 64, 2048), (1, 16, 16, 65536)]  # batch, rows, columns, depth
ODD = [(65536, 33, 65), (16384, 129, 257), (4096, 1001, 513)]  # rows, columns, depth
FFTS = [(512, 512), (4096, 256), (64, 16000), (8192, 1024), (98304, 14), (16384, 56), (4096, 768)]


def elements() -> Iterator[OpSpec]:
    for op, dtype, numel in product((*UNARY, *BINARY), ("fp16", "fp32"), SIZES):
        yield op, dict(numel=numel, dtype=dtype)


def moved() -> Iterator[OpSpec]:
    for dtype, (b, s, d) in product(("fp16", "fp32"), TURNED):
        yield "clone_columns", dict(b=b, s=s, d=d, numel=b * s * d, dtype=dtype)
    for dtype, (b, times, rows, cols) in product(("fp16", "fp32"), REPEATED):
        yield "repeat_rows", dict(b=b, times=times, rows=rows, cols=cols, dtype=dtype)


def along_rows() -> Iterator[OpSpec]:
    for op, dtype, (rows, cols) in product(("sort_rows", "topk"), ("fp16", "fp32"), SORTED):
        yield op, dict(rows=rows, cols=cols, **({"k": min(100, cols)} if op == "topk" else {}), dtype=dtype)
    for op, dtype, (rows, cols) in product(("amax", "cumsum", "argmax"), ("fp16", "fp32"), SUMMED):
        yield op, dict(rows=rows, cols=cols, dtype=dtype)
    for dtype, (rows, cols) in product(("fp16", "fp32"), COLUMNS):
        yield "sum_columns", dict(rows=rows, cols=cols, dtype=dtype)


def films() -> Iterator[OpSpec]:
    names = ("c", "t", "h", "out", "kt", "k", "st", "stride", "pt", "pad")
    for dtype, shape, n in product(("fp16", "tf32"), FILMS, (1, 4)):
        p = dict(zip(names, shape, strict=True))
        yield "conv3d", {"n": n, **p, "w": p["h"], "dtype": dtype}


def corners() -> Iterator[OpSpec]:
    """Many short rows, thin products that are deep, sides that fill no vector: where kernels cost most for what they move."""
    for dtype in ("fp16", "fp32"):
        for op, (rows, cols, picks) in product(("index_select", "gather"), PICKED):
            yield op, dict(rows=rows, cols=cols, picks=picks, dtype=dtype)
        yield from (("sum", dict(rows=rows, cols=cols, dtype=dtype)) for rows, cols in SHORT)
        yield "cat_columns", dict(rows=65536, parts=[512, 3, 5], dtype=dtype)
    yield from (("bmm", dict(b=b, m=m, n=n, k=k, dtype="fp32")) for b, m, n, k in THIN)
    yield from (linear(m, n, k, 1, "fp16") for m, n, k in ODD)


def wide() -> Iterator[OpSpec]:
    """FP64, and complex numbers, whose parts are FP32."""
    for m, n, k in ((197, 197, 64), (512, 64, 512), (1024, 1024, 1024)):
        yield "bmm", dict(b=12, m=m, n=n, k=k, dtype="fp64")
    for op, (rows, cols) in product(("softmax", "layer_norm"), ((4096, 512), (16384, 768), (512, 4096))):
        yield op, dict(rows=rows, cols=cols, dtype="fp64")
    yield from (conv(n, square(64, 56, 64, 3, 1, 1), "nchw", "fp64") for n in (1, 16))
    for op, power in product(("relu", "gelu", "exp", "sigmoid"), (18, 22, 25)):
        yield op, dict(numel=2**power, dtype="fp64")
    yield from (("complex_mul", dict(numel=2**power, dtype="fp32")) for power in (16, 20, 24, 26))
    for b, m, n, k in ((1, 1024, 1024, 1024), (64, 128, 128, 128), (16, 512, 64, 512)):
        yield "complex_bmm", dict(b=b, m=m, n=n, k=k, dtype="fp32")
    for op, (rows, cols) in product(("rfft", "fft"), FFTS):
        yield op, dict(rows=rows, cols=cols, dtype="fp32")
