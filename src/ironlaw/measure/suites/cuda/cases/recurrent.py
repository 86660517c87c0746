"""Recurrent layers as cuDNN runs them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

LAYERS = [  # steps, batch, features, hidden, layers, both directions
    (128, 32, 512, 512, 1, 0), (128, 32, 512, 512, 2, 0), (256, 64, 1024, 1024, 1, 0), (50, 1, 256, 256, 1, 0), (100, 16, 128, 128, 1, 0),
    (200, 8, 768, 768, 1, 1), (64, 256, 256, 512, 1, 0), (1, 32, 512, 512, 1, 0), (400, 32, 512, 512, 1, 0), (128, 20, 300, 650, 1, 0),
]  # fmt: skip
SMALL = [  # states that one block may keep for all steps
    (100, 1, 64, 64, 1, 0), (100, 32, 64, 64, 1, 0), (400, 8, 128, 128, 1, 0), (50, 64, 128, 128, 1, 0), (100, 4, 192, 192, 1, 0),
    (200, 32, 192, 192, 1, 0), (100, 128, 128, 128, 1, 0), (100, 16, 128, 128, 2, 1), (100, 8, 256, 256, 1, 0), (100, 32, 384, 384, 1, 0),
    (50, 1, 384, 384, 1, 0), (64, 16, 256, 256, 1, 0), (200, 64, 512, 768, 1, 0), (64, 128, 1024, 1024, 1, 0),
]  # fmt: skip


def layers() -> Iterator[OpSpec]:
    names = ("steps", "batch", "features", "hidden", "layers", "both")
    for op, dtype, shape in product(("lstm", "gru", "rnn_tanh"), ("fp16", "fp32"), LAYERS + SMALL):
        yield op, {**dict(zip(names, shape, strict=True)), "dtype": dtype}
