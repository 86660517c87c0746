"""Writes into a part of a tensor, resizing, joining at odd sizes, reflected pads: what moves, and how unevenly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

CACHES = [(1, 8, 2048, 128), (1, 8, 32768, 128), (16, 8, 2048, 128), (16, 32, 2048, 128), (64, 8, 4096, 128)]  # batch, heads, length, width
WRITES = ("index_copy_", "slice_copy_", "index_put_rows_", "scatter_rows_")
RESIZED = [(1, 256, 32), (8, 256, 32), (8, 64, 56), (1, 64, 112), (8, 21, 65), (1, 1280, 16), (16, 3, 112), (8, 512, 14)]  # images
JOINED = [  # rows, and the columns that are joined along the last axis
    (4096, (1, 768)), (4096, (63, 65)), (16384, (96, 32, 32)), (65536, (3, 5)), (1024, (1000, 24)), (16384, (64, 64, 64, 64)),
    (100352, (64, 32)), (25088, (33, 31)),
]  # fmt: skip
CHANNELS = [(1, (64, 32), 56), (32, (64, 32), 56), (32, (256, 32), 28), (8, (512, 32, 32), 14), (32, (33, 31), 28), (8, (1024, 512), 7)]


def writes() -> Iterator[OpSpec]:
    """New rows of a key cache, as decoding writes them: they move what they touch and not the tensor."""
    for op, (b, h, length, d), rows in product(WRITES, CACHES, (1, 128)):
        yield op, dict(b=b, h=h, length=length, d=d, rows=rows, dtype="fp16")


def resizes() -> Iterator[OpSpec]:
    for op, dtype, (n, c, h) in product(("upsample_bilinear", "upsample_bicubic", "upsample_nearest"), ("fp16", "fp32"), RESIZED):
        yield op, dict(n=n, c=c, h=h, w=h, scale=2, dtype=dtype)
    for (n, c, h), dtype in product(RESIZED, ("fp16", "fp32")):
        yield "grid_sample", dict(n=n, c=c, h=h, w=h, dtype=dtype)
        yield "pixel_shuffle", dict(n=n, c=4 * c, h=h, w=h, scale=2, dtype=dtype)
        yield "pad_reflect", dict(n=n, c=c, h=h, w=h, pad=3, dtype=dtype)


def joins() -> Iterator[OpSpec]:
    for dtype, (rows, cols) in product(("fp16", "fp32"), JOINED):
        yield "cat_columns", dict(rows=rows, parts=list(cols), dtype=dtype)
    for dtype, (n, channels, h) in product(("fp16", "fp32"), CHANNELS):
        yield "cat_channels", dict(n=n, parts=list(channels), h=h, w=h, dtype=dtype)
