"""Attention: as models call it, at many sizes, with masks, and where no fused kernel takes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, sdpa

ATTENTION = [  # heads, heads of keys, queries, keys, width, causal
    (12, 12, 128, 128, 64, 0), (12, 12, 197, 197, 64, 0), (12, 12, 512, 512, 64, 1), (12, 12, 1024, 1024, 64, 1),
    (16, 16, 1024, 1024, 64, 0), (32, 8, 512, 512, 128, 1), (32, 8, 2048, 2048, 128, 1), (32, 32, 2048, 2048, 128, 1),
    (32, 8, 1, 512, 128, 0), (32, 8, 1, 2048, 128, 0), (32, 8, 1, 8192, 128, 0),
]  # fmt: skip


def of_models() -> Iterator[OpSpec]:
    for dtype, (h, hkv, sq, sk, d, causal), b in product(("fp16", "bf16"), ATTENTION, (1, 8, 32)):
        yield "sdpa", dict(b=b, h=h, hkv=hkv, sq=sq, sk=sk, d=d, causal=causal, dtype=dtype)


HEADS = (32, 40, 64, 80, 96, 128, 256)
LENGTHS = [
    (49, 49), (64, 64), (77, 77), (128, 128), (197, 197), (256, 256), (512, 512), (577, 577), (1024, 1024), (1500, 1500),
    (2048, 2048), (4096, 4096), (4096, 77), (1, 512), (1, 4096),
]  # fmt: skip
ODD, LEFT_OUT = (40, 80, 96, 256), (64, 512, 1024, 2048)  # widths, and lengths that are not measured at them
SCORES = 4e9  # elements, the most


def many_sizes() -> Iterator[OpSpec]:
    """Attention without a mask, causal, and with a mask tensor."""
    for d, (sq, sk), many in product(HEADS, LENGTHS, (8, 96, 1536)):
        h = 12 if many > 8 else 8
        b = max(1, many // h)
        if b * h * sq * sk > SCORES or (d in ODD and sq in LEFT_OUT):
            continue
        for style in ("plain", "causal", "mask"):
            if (style == "causal" and sq != sk) or (style == "mask" and (d not in (32, 64, 128) or many == 8)):
                continue
            yield sdpa(b, h, sq, sk, d, causal=int(style == "causal"), mask=int(style == "mask"))


MATHS = ((4, 12, 256, 64), (8, 8, 512, 64), (2, 16, 1024, 64), (32, 12, 128, 64), (1, 12, 2048, 64))
BIASED = ((2048, 3, 49, 32, 1), (128, 12, 49, 32, 1), (512, 6, 49, 32, 0), (8, 12, 256, 64, 1), (4, 12, 512, 64, 1))


def unfused() -> Iterator[OpSpec]:
    """Attention that no fused kernel takes, and with a bias for each head."""
    yield from (sdpa(b, h, s, s, d, op="sdpa_math") for b, h, s, d in MATHS)
    yield from (sdpa(b, h, s, s, d, mask=1, heads=h, whole=whole) for b, h, s, d, whole in BIASED)


MASKED = [
    (1, 12, 512, 64), (4, 12, 512, 64), (16, 12, 512, 64), (4, 16, 1024, 64), (1, 32, 512, 128), (8, 32, 512, 128), (4, 32, 512, 64),
    (1, 32, 2048, 128), (4, 32, 2048, 128), (2, 16, 2048, 64), (8, 16, 256, 64),
]  # fmt: skip


def masked() -> Iterator[OpSpec]:
    """With the causal mask as a tensor, as a compiled model has it."""
    yield from (sdpa(b, h, s, s, d, causal=1, op="sdpa_masked") for b, h, s, d in MASKED)
