"""What training the corpus' models runs beside their forward pass, in BF16; and convolutions as torch.compile runs them, in NHWC."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.convolution import LAYOUTS
from ironlaw.measure.suites.cuda.cases.corpus import specs
from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, conv, square

LARGE_KERNELS = [
    (256, 96, 9),
    (512, 48, 9),
    (1024, 24, 9),
    (96, 56, 7),
    (384, 14, 7),
    (768, 7, 7),
    (256, 28, 5),
    (128, 28, 11),
    (64, 56, 13),
]
MULTIPLIED = [(96, 28, 2), (192, 14, 2), (144, 27, 2), (64, 56, 2), (256, 14, 3)]  # channels, side, results for each of them


def gradients() -> Iterator[OpSpec]:
    yield from specs("training_shapes")


def compiled() -> Iterator[OpSpec]:
    before = list(by_channel())
    yield from (spec for spec in specs("compiled_shapes") if spec not in before)


def by_channel() -> Iterator[OpSpec]:
    """A group for each channel: large kernels in NHWC; several results for a channel, in either layout."""
    for (c, h, k), n in product(LARGE_KERNELS, (1, 16)):
        yield conv(n, square(c, h, c, k, 1, k // 2, c), "nhwc", "fp16")
    for dtype, layout, (c, h, times) in product(("fp16", "tf32"), LAYOUTS, MULTIPLIED):
        yield conv(16, square(c, h, times * c, 3, 2, 1, c), layout, dtype)
    for c, h, times in MULTIPLIED:
        params = conv(16, square(c, h, times * c, 3, 2, 1, c), "nchw", "bf16")[1]
        yield "conv2d_backward", {key: value for key, value in params.items() if key != "bias"}
