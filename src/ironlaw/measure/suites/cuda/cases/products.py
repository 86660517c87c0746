"""Linear layers and batched products: those of models, and narrow ones of a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, linear

ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 197, 256, 512, 1024, 2048, 4096, 6304, 8192, 16384)
LINEAR = [  # outputs, inputs
    (768, 768), (3072, 768), (768, 3072), (2304, 768), (1024, 1024), (4096, 1024), (1024, 4096), (4096, 4096), (14336, 4096),
    (4096, 14336), (1000, 2048), (12, 64), (2, 768), (30522, 768), (50257, 768), (50304, 768), (32000, 2048), (512, 512), (256, 256),
    (8192, 8192), (28672, 8192),
]  # fmt: skip
LINEAR_BF16 = [(1024, 4096), (4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096), (2048, 2048), (8192, 2048), (512, 2048)]
LINEAR_FP32 = [(768, 768), (3072, 768), (4096, 4096)]
LARGEST = 2e9  # elements of a result


def linears() -> Iterator[OpSpec]:
    yield from (linear(m, n, k, 1, "fp16") for (n, k), m in product(LINEAR, ROWS) if m * n <= LARGEST)
    yield from (linear(m, n, k, 0, "bf16") for (n, k), m in product(LINEAR_BF16, ROWS) if m * n <= LARGEST)
    for dtype, (n, k), m in product(("fp32", "tf32"), LINEAR_FP32, (1, 64, 512, 4096)):
        yield linear(m, n, k, 1, dtype)


def batched() -> Iterator[OpSpec]:
    shapes = [(197, 197, 64), (197, 64, 197), (512, 512, 64), (512, 64, 512), (128, 128, 64), (1, 512, 128)]
    for dtype, (m, n, k), b in product(("fp16", "fp32"), shapes, (12, 96, 384)):
        yield "bmm", dict(b=b, m=m, n=n, k=k, dtype=dtype)


LARGE = [  # rows, columns, depth of one product: those that fill a GPU by themselves, and long thin ones
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (1024, 1024, 128), (1024, 128, 1024), (2048, 2048, 64),
    (2048, 64, 2048), (4096, 4096, 128), (4096, 128, 4096), (64, 4096, 4096), (16, 4096, 4096), (1, 4096, 128), (1, 128, 4096),
]  # fmt: skip
MOST_ELEMENTS = 2**28  # of an operand or a result


def large_batched() -> Iterator[OpSpec]:
    """Batched products beyond the size of a head, in every format."""
    for dtype, (m, n, k), b in product(("fp16", "bf16", "tf32", "fp32"), LARGE, (4, 32, 64, 512)):
        if b * max(m * n, m * k, n * k) <= MOST_ELEMENTS:
            yield "bmm", dict(b=b, m=m, n=n, k=k, dtype=dtype)


BETWEEN = (832, 896, 960, 1000, 1024, 1088, 1152, 1216, 1280, 1408)  # outputs for which the library takes other tiles
SIDES = (256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
FEW = (1, 2, 4, 8, 16)  # rows


def narrow() -> Iterator[OpSpec]:
    """A few rows against a weight: decoding, and small networks that answer one request at a time."""
    yield from (linear(m, n, k, 1, "fp16") for m, n, k in product(FEW, SIDES, SIDES))
    yield from (linear(m, n, k, 0, "bf16") for m, n, k in product((1, 8), SIDES, SIDES))
    more = ((m, n, k) for m, n, k in product((1, 2, 4, 6), BETWEEN, (512, 1024, 2048)) if m not in FEW or n not in SIDES)
    yield from (linear(m, n, k, 1, "fp16") for m, n, k in more)
