"""Cases for a processor whose time is arithmetic: linear layers, convolutions, attention, products. Weights come from memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ironlaw.measure.devices.device import Case

POOL = 64 * 2**20  # elements: 256 MiB, more than any last-level cache
LARGEST = 1.2e10  # operations of a product that is worth the wait


class Weights:
    """Cold weights, cut one after the other from one buffer."""

    def __init__(self) -> None:
        import torch

        self.buffer = torch.empty(POOL).normal_(0, 0.5)
        self.at = 0

    def take(self, *shape: int) -> Any:
        size = 1
        for d in shape:
            size *= d
        if self.at + size > POOL:
            self.at = 0
        weight = self.buffer[self.at : self.at + size].view(shape)
        self.at += -(-size // 16) * 16
        return weight


LINEAR = [
    (768, 768), (3072, 768), (768, 3072), (2304, 768), (1024, 1024), (4096, 1024), (1024, 4096), (512, 512), (2048, 512),
    (512, 2048), (256, 256), (128, 128), (64, 64), (12, 64), (2, 768), (1000, 2048), (1000, 512), (1000, 1280), (30522, 768),
    (50257, 768), (4096, 4096), (320, 1280), (384, 1536),
]  # fmt: skip
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 197, 512)


def linears(weights: Weights) -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    for (n, k), m in itertools.product(LINEAR, ROWS):
        if 2.0 * m * n * k > LARGEST:
            continue

        def prepare(m: int = m, n: int = n, k: int = k) -> Callable[[], Any]:
            x, b = torch.randn(m, k), torch.randn(n)
            return lambda: F.linear(x, weights.take(n, k), b)

        yield Case("linear", dict(m=m, n=n, k=k, bias=1, dtype="fp32"), prepare)


# channels, side, outputs, kernel, stride, padding, groups
CONVOLUTIONS = [
    (3, 224, 64, 7, 2, 3, 1), (64, 56, 64, 1, 1, 0, 1), (64, 56, 64, 3, 1, 1, 1), (64, 56, 256, 1, 1, 0, 1),
    (256, 56, 64, 1, 1, 0, 1), (256, 56, 128, 1, 1, 0, 1), (128, 56, 128, 3, 2, 1, 1), (256, 56, 512, 1, 2, 0, 1),
    (128, 28, 128, 3, 1, 1, 1), (128, 28, 512, 1, 1, 0, 1), (512, 28, 128, 1, 1, 0, 1), (512, 28, 256, 1, 1, 0, 1),
    (256, 28, 256, 3, 2, 1, 1), (512, 28, 1024, 1, 2, 0, 1), (256, 14, 256, 3, 1, 1, 1), (256, 14, 1024, 1, 1, 0, 1),
    (1024, 14, 256, 1, 1, 0, 1), (1024, 14, 512, 1, 1, 0, 1), (512, 14, 512, 3, 2, 1, 1), (1024, 14, 2048, 1, 2, 0, 1),
    (512, 7, 512, 3, 1, 1, 1), (512, 7, 2048, 1, 1, 0, 1), (2048, 7, 512, 1, 1, 0, 1),
    (3, 224, 32, 3, 2, 1, 1), (3, 32, 16, 3, 1, 1, 1), (3, 224, 64, 3, 1, 1, 1), (3, 224, 768, 16, 16, 0, 1), (3, 224, 96, 4, 4, 0, 1),
    (64, 112, 128, 3, 1, 1, 1), (16, 32, 16, 3, 1, 1, 1), (32, 16, 32, 3, 1, 1, 1), (64, 8, 64, 3, 1, 1, 1), (320, 32, 320, 3, 1, 1, 1),
    (64, 64, 64, 5, 1, 2, 1), (128, 28, 128, 3, 1, 1, 32), (256, 14, 256, 3, 1, 1, 32), (128, 56, 128, 3, 1, 1, 4),
    (32, 112, 16, 1, 1, 0, 1), (16, 112, 96, 1, 1, 0, 1), (96, 56, 24, 1, 1, 0, 1), (24, 56, 144, 1, 1, 0, 1), (144, 28, 32, 1, 1, 0, 1),
    (32, 28, 192, 1, 1, 0, 1), (192, 14, 64, 1, 1, 0, 1), (64, 14, 384, 1, 1, 0, 1), (384, 14, 96, 1, 1, 0, 1), (576, 7, 160, 1, 1, 0, 1),
    (160, 7, 960, 1, 1, 0, 1), (960, 7, 320, 1, 1, 0, 1), (320, 7, 1280, 1, 1, 0, 1),
    (32, 112, 32, 3, 1, 1, 32), (96, 112, 96, 3, 2, 1, 96), (144, 56, 144, 3, 1, 1, 144), (144, 56, 144, 3, 2, 1, 144),
    (192, 28, 192, 3, 1, 1, 192), (192, 28, 192, 3, 2, 1, 192), (384, 14, 384, 3, 1, 1, 384), (576, 14, 576, 3, 2, 1, 576),
    (960, 7, 960, 3, 1, 1, 960), (240, 28, 240, 5, 1, 2, 240), (96, 56, 96, 7, 1, 3, 96), (384, 14, 384, 7, 1, 3, 384),
]  # fmt: skip
SPEECH = [  # (c, h, w, out, kh, kw, stride, ph, pw, groups)
    (1, 49, 10, 64, 10, 4, 2, 5, 1, 1), (64, 25, 5, 64, 3, 3, 1, 1, 1, 64), (64, 25, 5, 64, 1, 1, 1, 0, 0, 1),
    (1, 28, 28, 8, 3, 3, 1, 1, 1, 1), (8, 14, 14, 16, 3, 3, 1, 1, 1, 1),
]  # fmt: skip


def convolutions(weights: Weights) -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    square = [(c, h, h, out, k, k, stride, pad, pad, groups) for c, h, out, k, stride, pad, groups in CONVOLUTIONS]
    todo = [*((s, n, 0) for s in square for n in (1, 4)), *((s, n, 1) for s in SPEECH for n in (1, 16))]
    for layout, (shape, n, bias) in itertools.product(("nchw", "nhwc"), todo):
        c, h, w, out, kh, kw, stride, ph, pw, groups = shape
        if 2.0 * n * h * w / stride**2 * out * c / groups * kh * kw > LARGEST:
            continue

        def prepare(shape: tuple[int, ...] = shape, n: int = n, bias: int = bias, layout: str = layout) -> Callable[[], Any]:
            c, h, w, out, kh, kw, stride, ph, pw, groups = shape
            x, b = torch.randn(n, c, h, w), torch.randn(out) if bias else None
            if layout == "nchw":
                return lambda: F.conv2d(x, weights.take(out, c // groups, kh, kw), b, stride, (ph, pw), 1, groups)
            last = x.contiguous(memory_format=torch.channels_last)
            return lambda: F.conv2d(last, weights.take(out, kh, kw, c // groups).permute(0, 3, 1, 2), b, stride, (ph, pw), 1, groups)

        params = dict(n=n, c=c, h=h, w=w, out=out, kh=kh, kw=kw, stride=stride, ph=ph, pw=pw, groups=groups, dilation=1, bias=bias)
        yield Case("conv2d", {**params, "layout": layout, "dtype": "fp32"}, prepare)


ATTENTION = [
    (12, 12, 16, 16, 64, 0), (12, 12, 64, 64, 64, 0), (12, 12, 128, 128, 64, 0), (12, 12, 128, 128, 64, 1), (12, 12, 197, 197, 64, 0),
    (12, 12, 512, 512, 64, 1), (12, 12, 512, 512, 64, 0), (12, 12, 1024, 1024, 64, 1), (12, 12, 1, 1, 64, 0), (12, 12, 1, 128, 64, 0),
    (12, 12, 1, 1024, 64, 0), (32, 8, 128, 128, 128, 1), (32, 8, 1, 512, 128, 0), (14, 2, 128, 128, 64, 1), (3, 3, 196, 196, 64, 0),
    (8, 8, 256, 256, 32, 0), (12, 12, 256, 256, 64, 0), (12, 12, 384, 384, 64, 0), (12, 12, 768, 768, 64, 0), (12, 12, 1536, 1536, 64, 0),
    (12, 12, 1, 512, 64, 0), (32, 8, 512, 512, 128, 1), (12, 12, 32, 32, 64, 0), (32, 32, 1, 256, 128, 0),
]  # fmt: skip


def attention() -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    for (h, hkv, sq, sk, d, causal), b in itertools.product(ATTENTION, (1, 4)):

        def prepare(
            b: int = b, h: int = h, hkv: int = hkv, sq: int = sq, sk: int = sk, d: int = d, causal: int = causal
        ) -> Callable[[], Any]:
            q = torch.randn(b, sq, h, d).transpose(1, 2)
            k, v = (torch.randn(b, sk, hkv, d).transpose(1, 2) for _ in range(2))
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=h != hkv)

        yield Case("sdpa", dict(b=b, h=h, hkv=hkv, sq=sq, sk=sk, d=d, causal=causal, dtype="fp32"), prepare)


def products() -> Iterator[Case]:
    import torch

    shapes = [(128, 128, 64), (128, 64, 128), (197, 197, 64), (197, 64, 197), (512, 512, 64), (512, 64, 512), (1, 128, 64), (1, 64, 128)]
    for (m, n, k), b in itertools.product(shapes, (1, 12, 48)):

        def prepare(b: int = b, m: int = m, n: int = n, k: int = k) -> Callable[[], Any]:
            x, y = torch.randn(b, m, k), torch.randn(b, k, n)
            return lambda: torch.bmm(x, y)

        yield Case("bmm", dict(b=b, m=m, n=n, k=k, dtype="fp32"), prepare)
