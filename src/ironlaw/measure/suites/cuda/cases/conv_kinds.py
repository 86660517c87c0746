"""Convolutions beyond those of a plain image network: grouped, dilated, transposed, along a line, in a volume, and in TF32."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.convolution import DEPTHWISE, DEPTHWISE_7, LAYOUTS, POINTWISE, RESNET, UNET, VGG
from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, conv, square

GROUPED = [  # channels, side, outputs, kernel, stride, groups: ResNeXt, RegNet, SK and CSP networks, two groups, a few channels a group
    (128, 56, 128, 3, 1, 32), (256, 56, 256, 3, 2, 32), (512, 28, 512, 3, 2, 32), (1024, 14, 1024, 3, 2, 32), (1024, 7, 1024, 3, 1, 32),
    (256, 56, 256, 3, 1, 32), (512, 28, 512, 3, 1, 64), (64, 112, 64, 3, 2, 4), (224, 56, 224, 3, 1, 2), (448, 28, 448, 3, 1, 4),
    (1232, 14, 1232, 3, 1, 11), (3024, 7, 3024, 3, 1, 27), (48, 56, 48, 3, 1, 2), (120, 28, 120, 3, 1, 5), (336, 14, 336, 3, 1, 14),
    (96, 56, 96, 3, 1, 4), (768, 14, 768, 3, 1, 48), (192, 28, 192, 5, 1, 6), (64, 56, 128, 1, 1, 2), (256, 28, 256, 1, 1, 4),
]  # fmt: skip
DEPTHWISE_5 = [(72, 56, 2), (120, 28, 1), (240, 14, 1), (480, 14, 1), (672, 14, 1), (672, 14, 2), (960, 7, 1), (1152, 7, 1), (240, 28, 2)]
LARGE_KERNELS = [
    (96, 56, 31),
    (192, 28, 29),
    (384, 14, 13),
    (256, 28, 11),
    (128, 56, 9),
]  # channels, side, kernel, a group for each channel
DILATED = [  # channels, side, outputs, kernel, dilation
    (512, 28, 512, 3, 2), (2048, 28, 256, 3, 12), (2048, 28, 256, 3, 24), (2048, 28, 256, 3, 36), (256, 28, 256, 3, 2), (64, 56, 64, 3, 4),
    (128, 33, 128, 3, 6),
]  # fmt: skip
TRANSPOSED = [  # channels, side, outputs, kernel, stride
    (1024, 14, 512, 2, 2), (512, 28, 256, 2, 2), (256, 56, 128, 2, 2), (128, 112, 64, 2, 2), (512, 4, 256, 4, 2), (256, 8, 128, 4, 2),
    (128, 16, 64, 4, 2), (64, 32, 3, 4, 2), (256, 32, 256, 4, 2), (768, 14, 768, 2, 2), (64, 56, 64, 3, 2),
]  # fmt: skip
ALONG = [  # channels, length, outputs, kernel, stride, groups: speech, audio, positions, state-space models
    (1, 16000, 512, 10, 5, 1), (512, 3199, 512, 3, 2, 1), (512, 1599, 512, 3, 2, 1), (512, 799, 512, 2, 2, 1), (768, 49, 768, 128, 1, 16),
    (80, 3000, 384, 3, 1, 1), (384, 3000, 384, 3, 2, 1), (80, 1500, 512, 5, 1, 1), (512, 1500, 512, 3, 1, 1), (1536, 512, 1536, 4, 1, 1536),
    (256, 1024, 256, 31, 1, 256), (512, 200, 1024, 1, 1, 1), (64, 8000, 64, 7, 1, 1), (1024, 512, 1024, 3, 1, 64),
]  # fmt: skip
VOLUMES = [  # channels, frames, side, outputs, kernel, stride: video and medical networks, patches of video
    (3, 16, 112, 64, 3, 1), (64, 16, 56, 64, 3, 1), (64, 8, 56, 128, 3, 2), (128, 8, 28, 128, 3, 1), (256, 4, 14, 256, 3, 1),
    (3, 16, 224, 768, 16, 16), (32, 32, 64, 64, 3, 1), (64, 16, 56, 64, 1, 1),
]  # fmt: skip
BATCHES = (1, 16, 64)


def kinds() -> Iterator[OpSpec]:
    """Grouped, depthwise and dilated ones in both layouts, in FP16 and, as PyTorch runs FP32 by default, in TF32."""
    shapes = [square(c, h, o, k, s, k // 2, g) for c, h, o, k, s, g in GROUPED]
    shapes += [square(c, h, c, 5, s, 2, c) for c, h, s in DEPTHWISE_5]
    for dtype, layout, shape, n in product(("fp16", "tf32"), LAYOUTS, shapes, BATCHES):
        yield conv(n, shape, layout, dtype)
    for dtype, (c, h, k), n in product(("fp16", "tf32"), LARGE_KERNELS, (1, 16)):
        yield conv(n, square(c, h, c, k, 1, k // 2, c), "nchw", dtype)
    for dtype, layout, (c, h, o, k, d), n in product(("fp16", "tf32"), LAYOUTS, DILATED, (1, 8)):
        name, params = conv(n, square(c, h, o, k, 1, d), layout, dtype)
        yield name, params | {"dilation": d}


def in_tf32() -> Iterator[OpSpec]:
    """The convolutions of plain image networks once more, in the format that PyTorch takes for FP32 by default."""
    shapes = [square(*s) for s in RESNET + VGG + UNET] + [square(c, h, o, 1, 1, 0) for c, h, o in POINTWISE]
    shapes += [square(c, h, c, 3, s, 1, c) for c, h, s in DEPTHWISE] + [square(c, h, c, 7, 1, 3, c) for c, h in DEPTHWISE_7]
    shapes += [square(3, 224, 768, 16, 16, 0)]
    yield from (conv(n, shape, layout, "tf32") for layout, shape, n in product(LAYOUTS, shapes, (1, 8, 64)))


def turned() -> Iterator[OpSpec]:
    """Transposed ones, along a line, and in a volume."""
    for dtype, layout, (c, h, o, k, s), n in product(("fp16", "tf32"), LAYOUTS, TRANSPOSED, (1, 16)):
        yield "conv_transpose2d", dict(n=n, c=c, h=h, w=h, out=o, k=k, stride=s, pad=(k - s) // 2, layout=layout, dtype=dtype)
    for dtype, (c, length, o, k, s, g), n in product(("fp16", "tf32"), ALONG, (1, 16)):
        yield "conv1d", dict(n=n, c=c, length=length, out=o, k=k, stride=s, pad=k // 2, groups=g, dtype=dtype)
    for dtype, (c, t, h, o, k, s), n in product(("fp16", "tf32"), VOLUMES, (1, 4)):
        yield "conv3d", dict(n=n, c=c, t=t, h=h, w=h, out=o, k=k, stride=s, pad=k // 2 if s < k else 0, dtype=dtype)
