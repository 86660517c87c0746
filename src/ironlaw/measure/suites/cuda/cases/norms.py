"""Norms over rows, channels and groups, and the pools that stand beside them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, planes

PLANES = [
    (64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7), (96, 112), (144, 56), (960, 7),
]  # fmt: skip


def of_images() -> Iterator[OpSpec]:
    yield from (("batch_norm", planes(n, c, h)) for (c, h), n in product(PLANES, (1, 8, 32, 128)))
    yield from (("group_norm", planes(n, c, h, groups=32)) for n, c, h in ((1, 320, 64), (8, 320, 64), (1, 1280, 16)))


NORMED = [  # rows, columns
    (65536, 32), (262144, 32), (16384, 64), (131072, 64), (3136, 96), (100352, 96), (25088, 128), (4096, 128), (4096, 160),
    (784, 192), (25088, 192), (6272, 256), (4096, 256), (32768, 320), (6272, 384), (12000, 384), (1568, 512), (25088, 512),
]  # fmt: skip
GROUPS = ((8, 64, 56, 1), (8, 128, 28, 1), (8, 320, 14, 1), (8, 512, 7, 1), (32, 64, 56, 1), (1, 64, 56, 1), (8, 64, 56, 8))
UNET_NORMS = ((320, 64), (320, 32), (640, 32), (640, 16), (1280, 16), (1280, 8), (128, 128), (512, 64))


def wide_and_grouped() -> Iterator[OpSpec]:
    yield from (("layer_norm", dict(rows=rows, cols=cols, dtype="fp16")) for rows, cols in NORMED)
    yield from (("group_norm", planes(n, c, h, groups=groups)) for n, c, h, groups in GROUPS)


def of_a_unet() -> Iterator[OpSpec]:
    yield from (("group_norm", planes(n, c, h, groups=32)) for n, (c, h) in product((1, 2, 8), UNET_NORMS))


def average_pools() -> Iterator[OpSpec]:
    for image in ((8, 64, 56), (8, 128, 28), (8, 320, 14), (8, 512, 7), (32, 64, 56), (32, 256, 56)):
        yield "avg_pool2d", planes(*image, k=3, stride=1, pad=1)
