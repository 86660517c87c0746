"""Convolutions of the models that use them, in both layouts, and grouped and depthwise ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, conv, square

# channels, side, outputs, kernel, stride, padding
RESNET = [
    (3, 224, 64, 7, 2, 3), (64, 56, 64, 1, 1, 0), (64, 56, 64, 3, 1, 1), (64, 56, 256, 1, 1, 0), (256, 56, 64, 1, 1, 0),
    (256, 56, 128, 1, 1, 0), (128, 56, 128, 3, 2, 1), (256, 56, 512, 1, 2, 0), (128, 28, 128, 3, 1, 1), (128, 28, 512, 1, 1, 0),
    (512, 28, 128, 1, 1, 0), (512, 28, 256, 1, 1, 0), (256, 28, 256, 3, 2, 1), (512, 28, 1024, 1, 2, 0), (256, 14, 256, 3, 1, 1),
    (256, 14, 1024, 1, 1, 0), (1024, 14, 256, 1, 1, 0), (1024, 14, 512, 1, 1, 0), (512, 14, 512, 3, 2, 1), (1024, 14, 2048, 1, 2, 0),
    (512, 7, 512, 3, 1, 1), (512, 7, 2048, 1, 1, 0), (2048, 7, 512, 1, 1, 0),
]  # fmt: skip
RESNET_FP32 = [0, 1, 2, 3, 4, 6, 8, 14, 15, 20]
VGG = [(64, 224, 64, 3, 1, 1), (128, 112, 128, 3, 1, 1), (512, 28, 512, 3, 1, 1)]
UNET = [(4, 64, 320, 3, 1, 1), (320, 64, 320, 3, 1, 1), (640, 32, 640, 3, 1, 1), (1280, 16, 1280, 3, 1, 1), (320, 64, 640, 1, 1, 0)]
DEPTHWISE = [
    (32, 112, 1), (96, 112, 2), (144, 56, 1), (144, 56, 2), (192, 28, 1), (192, 28, 2), (384, 14, 1), (576, 14, 1), (576, 14, 2),
    (960, 7, 1),
]  # fmt: skip
DEPTHWISE_PADDED = [(32, 112, 1), (144, 56, 2), (576, 14, 1)]
DEPTHWISE_7 = [(96, 56), (192, 28), (384, 14), (768, 7)]
POINTWISE = [
    (32, 112, 16), (16, 112, 96), (96, 56, 24), (24, 56, 144), (144, 28, 32), (32, 28, 192), (192, 14, 64), (64, 14, 384),
    (384, 14, 96), (96, 14, 576), (576, 7, 160), (160, 7, 960), (960, 7, 320), (320, 7, 1280),
]  # fmt: skip
SPEECH = [  # c, h, w, out, kh, kw, stride, ph, pw, groups
    (1, 49, 10, 64, 10, 4, 2, 5, 1, 1), (64, 25, 5, 64, 3, 3, 1, 1, 1, 64), (64, 25, 5, 64, 1, 1, 1, 0, 0, 1),
]  # fmt: skip
LAYOUTS = ("nchw", "nhwc")


def convolutions() -> Iterator[OpSpec]:
    batches = (1, 8, 32, 128)
    shapes = [square(*s) for s in RESNET]
    shapes += [square(c, h, c, 3, s, 1, c) for c, h, s in DEPTHWISE]
    shapes += [square(c, h, o, 1, 1, 0) for c, h, o in POINTWISE]
    yield from (conv(n, shape, layout) for layout, shape, n in product(LAYOUTS, shapes, batches))
    yield from (conv(n, square(3, 224, 768, 16, 16, 0), layout, bias=1) for layout, n in product(LAYOUTS, batches))
    shapes = [square(c, h, c, 7, 1, 3, c) for c, h in DEPTHWISE_7]
    shapes += [square(c, h + 2, c, 3, s, 0, c) for c, h, s in DEPTHWISE_PADDED]
    shapes += [square(*s) for s in VGG] + [square(256, 14, 256, 3, 1, 1, 32)]
    yield from (conv(n, shape, layout) for layout, shape, n in product(LAYOUTS, shapes, batches))
    yield from (conv(n, square(*shape), layout) for layout, shape, n in product(LAYOUTS, UNET, (1, 2, 8)))
    yield from (conv(n, shape, layout) for layout, shape, n in product(LAYOUTS, SPEECH, (1, 32, 1024)))
    for dtype, index, n in product(("fp32", "tf32"), RESNET_FP32, (1, 32)):
        yield conv(n, square(*RESNET[index]), "nchw", dtype)


def depthwise() -> Iterator[OpSpec]:
    """Kernels of 3, 5 and 7 on images whose channels lie innermost."""
    images = ((96, 56), (192, 28), (384, 14), (768, 7), (64, 112), (144, 56))
    for n, (c, hw), k in product((1, 32), images, (3, 5, 7)):
        yield "depthwise_nhwc", dict(n=n, c=c, hw=hw, k=k, dtype="fp16")


GROUPED = [  # n, c, side, groups, stride
    (16, 512, 14, 8, 1), (16, 192, 28, 3, 1), (16, 128, 56, 2, 1), (16, 128, 112, 2, 2), (16, 1088, 7, 17, 1), (16, 192, 56, 3, 2),
    (1, 512, 14, 8, 1), (1, 128, 56, 2, 1), (32, 128, 56, 32, 1), (32, 256, 28, 32, 1), (32, 1024, 7, 32, 1), (64, 512, 14, 8, 1),
]  # fmt: skip


def grouped() -> Iterator[OpSpec]:
    yield from (conv(n, square(c, h, c, 3, stride, 1, groups), "nchw") for n, c, h, groups, stride in GROUPED)
