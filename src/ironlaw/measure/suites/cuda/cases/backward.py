"""Gradients that PyTorch computes in kernels of their own, and an optimiser's step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, planes

CONVOLUTIONS = [  # n, c, side, outputs, kernel, stride
    (32, 64, 56, 64, 3, 1), (32, 256, 56, 64, 1, 1), (32, 128, 28, 128, 3, 1), (32, 512, 28, 128, 1, 1), (32, 256, 14, 256, 3, 1),
    (32, 512, 7, 512, 3, 1), (32, 256, 56, 512, 1, 2), (8, 64, 56, 64, 3, 1),
]  # fmt: skip
ATTENDED = [(4, 12, 512, 64, 1), (8, 12, 512, 64, 0), (1, 32, 2048, 128, 1), (4, 16, 1024, 64, 1), (32, 12, 128, 64, 0)]


def layers() -> Iterator[OpSpec]:
    for rows, width in ((512, 768), (4096, 768), (16384, 768), (4096, 4096), (32768, 1024)):
        yield "layer_norm_backward", dict(rows=rows, width=width, dtype="fp16")
    for n, c, h, out, k, stride in CONVOLUTIONS:
        yield "conv_backward", dict(n=n, c=c, h=h, out=out, k=k, stride=stride, dtype="fp16")
    for b, heads, s, d, causal in ATTENDED:
        yield "sdpa_backward", dict(b=b, h=heads, s=s, d=d, causal=causal, dtype="fp16")
    for tensors, size in ((10, 1000), (150, 100_000), (150, 1_000_000), (60, 4_000_000)):
        yield "adamw", dict(tensors=tensors, size=size, dtype="fp32")


IMAGES = [
    (32, 64, 112), (32, 64, 56), (32, 256, 56), (32, 128, 28), (32, 512, 28), (32, 256, 14), (32, 1024, 14), (32, 512, 7),
    (32, 2048, 7), (8, 64, 56), (8, 512, 14), (128, 256, 56),
]  # fmt: skip


def batch_norms() -> Iterator[OpSpec]:
    """Batch norms in training, forward and backward."""
    yield from ((op, planes(*image)) for image, op in product(IMAGES, ("batch_norm_train", "batch_norm_backward")))


def max_pools() -> Iterator[OpSpec]:
    for image in ((32, 64, 112), (8, 64, 112), (32, 64, 56)):
        yield "max_pool2d_backward", planes(*image, k=3, stride=2, pad=1)


COLUMNS = ((2048, 768), (3152, 768), (2048, 3072), (3152, 3072), (16384, 1024), (2048, 30522), (512, 768), (8192, 4096))
TABLES = ((30522, 768, 2048), (512, 768, 128), (50257, 768, 2048), (2, 768, 128), (32000, 1024, 2048))


def sums_and_lookups() -> Iterator[OpSpec]:
    """Sums over rows, as a bias needs them, and the gradients of GELU and of lookups."""
    yield from (("sum_columns", dict(rows=rows, cols=cols, dtype="fp16")) for rows, cols in COLUMNS)
    for rows, cols in ((2048, 3072), (3152, 3072), (512, 3072), (16384, 4096)):
        yield "gelu_backward", dict(numel=rows * cols, dtype="fp16")
    for vocab, dim, tokens in TABLES:
        yield "embedding_backward", dict(vocab=vocab, dim=dim, tokens=tokens, dtype="fp16")
