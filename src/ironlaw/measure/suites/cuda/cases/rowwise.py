"""Ops over the rows of a matrix: norms, softmax, sums."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

ROW_SHAPES = [
    (1, 768), (128, 768), (197, 768), (512, 768), (4096, 768), (6304, 768), (16384, 768), (1, 4096), (8, 4096), (512, 4096),
    (4096, 4096), (32768, 4096), (65536, 1024), (2048, 1024), (12 * 512, 512), (384 * 197, 197), (16384, 8192),
]  # fmt: skip
ROW_OPS = [
    ("layer_norm", "fp16"), ("softmax", "fp16"), ("softmax", "fp32"), ("rms_norm", "fp16"), ("mean", "fp32"), ("sum", "fp32"),
    ("sum", "fp16"), ("var", "fp32"),
]  # fmt: skip


def rowwise() -> Iterator[OpSpec]:
    yield from ((op, dict(rows=r, cols=c, dtype=dtype)) for (op, dtype), (r, c) in product(ROW_OPS, ROW_SHAPES))
    for (r, c), op in product([(512, 50257), (4096, 32000), (128, 1000)], ("log_softmax", "cross_entropy")):
        yield op, dict(rows=r, cols=c, dtype="fp16")
    yield from (("sum_all", dict(numel=2**power, dtype=dtype)) for power, dtype in product(range(12, 29, 2), ("fp16", "fp32")))


LENGTHS = (256, 512, 768, 1000, 1024, 1025, 1100, 1280, 1536, 2048, 3072, 4096, 8192, 32000)  # the library takes another kernel beyond 1024


def softmaxes() -> Iterator[OpSpec]:
    """Rows on both sides of 1,024, aligned and not."""
    for dtype, rows, cols in product(("fp16", "bf16", "fp32"), (512, 16384, 98304), LENGTHS):
        if rows * cols <= 2**29:
            yield "softmax", dict(rows=rows, cols=cols, dtype=dtype)
