"""Kernels that torch.compile writes. `read_bytes` and `written_bytes` are what must move."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ironlaw.measure.suites.cuda.cases.norms import UNET_NORMS
from ironlaw.measure.suites.cuda.cases.shapes import OpSpec, planes


def elementwise() -> Iterator[OpSpec]:
    for power in (12, 16, 20, 22, 24, 26, 27):
        numel = 2**power
        for function, inputs in (("relu", 1), ("mul_add_relu", 3), ("gelu_tanh", 1), ("silu_mul", 2)):
            yield written(function, dict(numel=numel, dtype="fp16"), 2 * inputs * numel, 2 * numel)


def written(function: str, params: dict[str, Any], read: int, out: int) -> OpSpec:
    return "generated", {"function": function, **params, "read_bytes": read, "written_bytes": out}


ROWS = [
    (1, 768), (128, 768), (512, 768), (4096, 768), (8192, 768), (16384, 768), (512, 4096), (4096, 4096), (2048, 1024), (16384, 8192),
    (25088, 32), (200704, 32), (6272, 64), (50176, 64), (3136, 96), (50176, 96), (25088, 128), (1568, 160), (12544, 192), (1568, 256),
    (6272, 384), (50176, 512),
]  # fmt: skip


def by_rows() -> Iterator[OpSpec]:
    for rows, cols in ROWS:
        size, params = 2 * rows * cols, dict(rows=rows, cols=cols, dtype="fp16")
        yield written("add_layer_norm", params, 2 * size, 2 * size)
        yield written("add_rms_norm", params, 2 * size, 2 * size)
        yield written("softmax", params, size, size)


def affine() -> Iterator[OpSpec]:
    """Batch norm at inference and ReLU on images whose channels lie innermost: alone, with a residual, and then the mean."""
    for n, (c, h) in product((1, 32, 128), ((64, 112), (256, 56), (512, 28), (1024, 14), (2048, 7))):
        size, params = 2 * n * c * h * h, dict(n=n, c=c, h=h, dtype="fp16")
        yield written("bn_relu", params, size, size)
        yield written("bn_add_relu", params, 2 * size, size)
        yield written("bn_relu_mean", {**params, "rows": n * c, "over": "plane"}, size, 2 * n * c)


def group_norms() -> Iterator[OpSpec]:
    """Group norm and SiLU, compiled, before a convolution: of an image as the convolution before it left it, or as it was given."""
    for n, (c, h), layout in product((1, 8), UNET_NORMS, ("nhwc", "nchw")):
        yield "generated_norm", planes(n, c, h, groups=32, layout=layout)
