"""What moves, picks, sorts and masks: lookups, copies, concatenations, pads, pools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, planes


def lookups() -> Iterator[OpSpec]:
    for vocab, dim, tokens in product((50257, 128256), (768, 4096), (1, 128, 512, 4096, 16384)):
        yield "embedding", dict(vocab=vocab, dim=dim, tokens=tokens, dtype="fp16")


IMAGES = [(32, 112), (96, 112), (144, 56), (384, 14), (960, 7)]
PADS = [(1, 1, 1, 1), (0, 1, 0, 1), (0, 0, 0, 0)]
HEADS = [(1, 197, 12, 64), (32, 197, 12, 64), (1, 512, 32, 128), (8, 512, 32, 128), (8, 2048, 32, 128), (8, 512, 12, 64)]


def movement() -> Iterator[OpSpec]:
    """Copies, concatenations, pads, pools."""
    yield from (("cat_last", dict(b=b, h=32, s=s, d=128, dtype="bf16")) for b, s in product((1, 8), (1, 512, 2048)))
    yield from (("cat_seq", dict(b=b, h=8, ctx=ctx, d=128, dtype="bf16")) for b, ctx in product((1, 8), (512, 2048, 8192)))
    yield from (("cat_token", dict(b=b, s=196, d=768, dtype="fp16")) for b in (1, 32))
    yield from (("transpose_heads", dict(b=b, s=s, h=h, d=d, dtype="fp16")) for b, s, h, d in HEADS)
    for rows, cols in ((197, 768), (1024, 1024), (4096, 4096), (16384, 4096)):
        yield "transpose_2d", dict(rows=rows, cols=cols, dtype="fp16")
    for (c, h), n, pad in product(IMAGES, (1, 32, 128), PADS):
        yield "pad", {**planes(n, c, h), **dict(zip(("left", "right", "top", "bottom"), pad, strict=True))}
    for n in (1, 8, 32, 128):
        yield "max_pool2d", planes(n, 64, 112, k=3, stride=2, pad=1)
        yield "avg_pool2d", planes(n, 256, 56, k=2, stride=2, pad=0)
        for (c, h, w), op in product([(2048, 7, 7), (1280, 7, 7), (64, 25, 5)], ("adaptive_avg_pool2d", "mean_hw")):
            yield op, dict(n=n, c=c, h=h, w=w, dtype="fp16")
    yield from (("upsample_nearest", planes(n, c, h, scale=2)) for n, c, h in ((1, 320, 32), (8, 320, 32), (1, 1280, 16), (8, 640, 32)))


def choices() -> Iterator[OpSpec]:
    """What picks, sorts, masks and counts."""
    yield from (("argmax", dict(rows=r, cols=c, dtype="fp16")) for r, c in ((1, 50257), (16, 128256), (512, 1000), (4096, 32000)))
    yield from (("topk", dict(rows=rows, cols=8, k=2, dtype="fp32")) for rows in (1, 64, 512, 4096, 16384))
    yield from (("cumsum", dict(rows=r, cols=c, dtype="fp32")) for r, c in ((1, 8), (1, 512), (8, 512), (64, 2048)))
    masked = ("compare_masked_fill", "bool_where", "masked_fill", "where")
    for (b, h, s), op in product([(1, 12, 128), (8, 12, 512), (1, 32, 2048)], masked):
        yield op, dict(b=b, h=h, s=s, dtype="fp16")
    picked = [(4096, 768, 512), (65536, 1024, 4096), (32768, 4096, 16384)]
    for (rows, cols, picks), op in product(picked, ("index_select", "index", "gather")):
        yield op, dict(rows=rows, cols=cols, picks=picks, dtype="fp16")
    yield from (("arange", dict(numel=numel, dtype="int64")) for numel in (128, 2048, 2**20))


def shifted() -> Iterator[OpSpec]:
    for n, s, c in ((1, 56, 96), (32, 56, 96), (32, 28, 192), (32, 14, 384), (8, 56, 96)):
        yield "roll", dict(shape=[n, s, s, c], numel=n * s * s * c, dtype="fp16")
    shapes = ((1, 512, 12, 64), (8, 512, 12, 64), (8, 1500, 6, 64), (32, 128, 16, 64), (8, 4096, 8, 40), (2, 2048, 32, 128))
    for (b, s, h, d), op in product(shapes, ("clone_heads", "add_permuted")):
        yield op, dict(b=b, s=s, h=h, d=d, numel=b * s * h * d, dtype="fp16")
