"""Ops in the formats that PyTorch takes by default, FP32 with TF32 where it allows it, and in FP64 and complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, linear, planes

SIDES = [
    (768, 768),
    (3072, 768),
    (768, 3072),
    (2304, 768),
    (384, 384),
    (1536, 384),
    (192, 192),
    (1024, 1024),
    (4096, 1024),
    (1024, 4096),
    (4096, 4096),
    (1000, 2048),
    (1000, 768),
    (30522, 768),
    (256, 256),
    (512, 512),
    (96, 384),
    (14336, 4096),
]  # fmt: skip  outputs, inputs
ROWS = (1, 8, 49, 64, 197, 512, 1576, 4096, 12608)
WIDE = [(197, 768), (1576, 768), (12608, 768), (3136, 96), (100352, 96), (25088, 192), (6272, 384), (4096, 4096), (16384, 1024)]
PLANES = [(1, 64, 112), (16, 64, 56), (64, 256, 56), (64, 512, 28), (16, 1024, 14), (64, 2048, 7), (64, 96, 112), (64, 960, 7)]
HEADS = [(12, 197, 64), (12, 512, 64), (16, 1024, 64), (8, 4096, 40), (32, 2048, 128), (6, 49, 32), (12, 128, 64)]
DECODED = [(32, 8, 128), (32, 32, 128), (64, 8, 128), (16, 4, 64), (14, 2, 64), (28, 4, 128)]  # heads, heads of keys, width


def products() -> Iterator[OpSpec]:
    for dtype, (n, k), m in product(("fp32", "tf32"), SIDES, ROWS):
        yield linear(m, n, k, 1, dtype)
    for m, side in product((64, 512, 4096), (512, 1024, 2048, 4096)):
        yield linear(m, side, side, 0, "fp64")


def rows() -> Iterator[OpSpec]:
    for op, (r, c) in product(("layer_norm", "rms_norm"), WIDE):
        yield op, dict(rows=r, cols=c, dtype="fp32")
    for op, (n, c, h) in product(("batch_norm",), PLANES):
        yield op, planes(n, c, h) | {"dtype": "fp32"}
    for (n, c, h), groups, dtype in product(
        [(1, 320, 64), (8, 320, 64), (8, 128, 128), (1, 128, 256), (8, 512, 32)], (1, 32), ("fp16", "fp32")
    ):
        yield "group_norm", planes(n, c, h, groups=groups) | {"dtype": dtype}


def attention() -> Iterator[OpSpec]:
    """Attention in FP32, and one query against a long cache with grouped heads."""
    for (h, s, d), b, causal in product(HEADS, (1, 8), (0, 1)):
        yield "sdpa", dict(b=b, h=h, hkv=h, sq=s, sk=s, d=d, causal=causal, dtype="fp32")
    for (h, hkv, d), b, length in product(DECODED, (1, 4, 16, 64), (256, 1024, 4096, 16384)):
        if b * length <= 2**18:
            yield "sdpa", dict(b=b, h=h, hkv=hkv, sq=1, sk=length, d=d, causal=0, dtype="bf16")


def elements() -> Iterator[OpSpec]:
    for op, power in product(("relu", "gelu", "silu", "sigmoid", "tanh", "add", "mul", "copy", "mul_scalar", "pow2"), (14, 18, 22, 25, 27)):
        yield op, dict(numel=2**power, dtype="fp32")
        yield op, dict(numel=2**power - 3, dtype="fp16")
    for op, power in product(("add", "mul", "copy"), (18, 22, 25)):
        yield op, dict(numel=2**power, dtype="fp64")
