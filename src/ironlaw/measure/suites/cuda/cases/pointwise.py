"""Ops on each element alone, with and without a second tensor that is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

HALF = (
    "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "pow2", "neg", "mul_scalar", "add_scalar", "hardtanh", "clamp", "copy",
    "dropout_train",
)  # fmt: skip
SIZES = tuple(2**power for power in (10, 12, 14, 16, 18, 20, 22, 24, 26, 27, 28))
CASTS = (("fp16", "fp32"), ("fp32", "fp16"), ("bf16", "fp32"))


def pointwise() -> Iterator[OpSpec]:
    named = [(op, "fp16") for op in HALF] + [("rsqrt", "fp32"), ("pow2", "fp32")]
    named += [(op, dtype) for dtype, op in product(("fp16", "fp32"), ("add", "mul"))] + [("add_", "fp16"), ("fill_", "fp16")]
    yield from ((op, dict(numel=size, dtype=dtype)) for (op, dtype), size in product(named, SIZES))
    yield from (("cast", dict(numel=size, dtype=dtype, to=to)) for (dtype, to), size in product(CASTS, SIZES))


def broadcasts() -> Iterator[OpSpec]:
    for cols, rows in product((768, 4096), (1, 8, 64, 512, 4096, 32768, 65536)):
        yield "mul_row", dict(rows=rows, cols=cols, dtype="fp16")
        yield "mul_col", dict(rows=rows, cols=cols, dtype="fp32")
    yield from (("mul_rope", dict(b=b, h=h, s=s, d=128, dtype="bf16")) for b, h, s in product((1, 8), (32, 8), (1, 512, 2048)))
    yield from (("add_pos", dict(b=b, s=s, d=d, dtype="fp16")) for b, s, d in product((1, 8, 32), (197, 512), (768, 1024)))
