"""Cases for a processor whose time is moving data: element-wise ops, rows, planes of an image, lookups and copies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ironlaw.measure.devices.device import Case

SIZES = tuple(2**p for p in (8, 10, 12, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24))


def pointwise() -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    unary: dict[str, Callable[[Any], Any]] = {
        "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "tanh": torch.tanh,
        "sigmoid": torch.sigmoid, "pow2": lambda x: x.pow(2), "mul_scalar": lambda x: x * 1.5,
        "hardtanh": lambda x: F.hardtanh(x, 0.0, 6.0), "copy": torch.clone, "rsqrt": torch.rsqrt,
        "dropout_train": lambda x: F.dropout(x, 0.1, True), "neg": torch.neg,
    }  # fmt: skip
    for (name, call), size in itertools.product(unary.items(), SIZES):

        def one(call: Callable[[Any], Any] = call, size: int = size) -> Callable[[], Any]:
            x = torch.rand(size) + 0.1
            return lambda: call(x)

        yield Case(name, dict(numel=size, dtype="fp32"), one)
    binary: dict[str, Any] = {"add": torch.add, "mul": torch.mul, "add_": torch.Tensor.add_}
    for (name, call), size in itertools.product(binary.items(), SIZES):

        def two(call: Callable[..., Any] = call, size: int = size) -> Callable[[], Any]:
            x, y = torch.randn(size), torch.randn(size) * 1e-6
            return lambda: call(x, y)

        yield Case(name, dict(numel=size, dtype="fp32"), two)
    for rows, cols in itertools.product((1, 16, 128, 512, 4096), (768, 1024)):

        def scaled(rows: int = rows, cols: int = cols) -> Callable[[], Any]:
            x, w = torch.randn(rows, cols), torch.randn(cols)
            return lambda: x * w

        yield Case("mul_row", dict(rows=rows, cols=cols, dtype="fp32"), scaled)


ROW_SHAPES = [
    (1, 768), (8, 768), (64, 768), (128, 768), (197, 768), (512, 768), (2048, 768), (1, 4096), (16, 4096), (128, 4096), (512, 1024),
    (49, 96), (3136, 96), (12 * 128, 128), (12 * 197, 197), (12 * 512, 512), (128, 50257),
]  # fmt: skip


def rowwise() -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    calls: dict[str, Callable[[Any, Any], Any]] = {
        "layer_norm": lambda x, w: F.layer_norm(x, w.shape, w, w), "softmax": lambda x, w: F.softmax(x, -1),
        "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w), "mean": lambda x, w: x.mean(-1, keepdim=True), "sum": lambda x, w: x.sum(-1),
        "log_softmax": lambda x, w: F.log_softmax(x, -1), "argmax": lambda x, w: x.argmax(-1),
    }  # fmt: skip
    for (name, call), (rows, cols) in itertools.product(calls.items(), ROW_SHAPES):

        def prepare(call: Callable[[Any, Any], Any] = call, rows: int = rows, cols: int = cols) -> Callable[[], Any]:
            x, w = torch.randn(rows, cols), torch.randn(cols)
            return lambda: call(x, w)

        yield Case(name, dict(rows=rows, cols=cols, dtype="fp32"), prepare)
    for power in range(10, 25, 2):

        def whole(size: int = 2**power) -> Callable[[], Any]:
            x = torch.randn(size)
            return x.sum

        yield Case("sum_all", dict(numel=2**power, dtype="fp32"), whole)


PLANES = [(64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7), (32, 112), (960, 7), (16, 32)]


def planes() -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    for (c, h), n in itertools.product(PLANES, (1, 4)):

        def norm(n: int = n, c: int = c, h: int = h) -> Callable[[], Any]:
            x, w, v = torch.randn(n, c, h, h), torch.randn(c), torch.rand(c) + 0.5
            return lambda: F.batch_norm(x, w, v, w, w, False)

        def mean(n: int = n, c: int = c, h: int = h) -> Callable[[], Any]:
            x = torch.randn(n, c, h, h)
            return lambda: x.mean((2, 3))

        params = dict(n=n, c=c, h=h, w=h, dtype="fp32")
        yield Case("batch_norm", params, norm)
        yield Case("mean_hw", params, mean)
    for (c, h), n in itertools.product([(320, 32), (64, 56), (512, 14)], (1, 4)):

        def groups(n: int = n, c: int = c, h: int = h) -> Callable[[], Any]:
            x, w = torch.randn(n, c, h, h), torch.randn(c)
            return lambda: F.group_norm(x, 32, w, w)

        yield Case("group_norm", dict(n=n, c=c, h=h, w=h, groups=32, dtype="fp32"), groups)
    for (c, h, k, stride, pad), n in itertools.product(
        [(64, 112, 3, 2, 1), (64, 56, 2, 2, 0), (256, 28, 3, 1, 1), (16, 32, 2, 2, 0)], (1, 4)
    ):
        for name, call in (("max_pool2d", F.max_pool2d), ("avg_pool2d", F.avg_pool2d)):

            def pool(
                n: int = n, c: int = c, h: int = h, k: int = k, stride: int = stride, pad: int = pad, call: Any = call
            ) -> Callable[[], Any]:
                x = torch.randn(n, c, h, h)
                return lambda: call(x, k, stride, pad)

            yield Case(name, dict(n=n, c=c, h=h, w=h, k=k, stride=stride, pad=pad, dtype="fp32"), pool)


def movement() -> Iterator[Case]:
    import torch
    import torch.nn.functional as F

    for vocab, dim, tokens in itertools.product((30522, 50257), (768,), (1, 16, 128, 512)):

        def lookup(vocab: int = vocab, dim: int = dim, tokens: int = tokens) -> Callable[[], Any]:
            table = torch.randn(vocab, dim)
            picks = itertools.cycle([torch.randint(vocab, (tokens,)) for _ in range(64)])
            return lambda: F.embedding(next(picks), table)

        yield Case("embedding", dict(vocab=vocab, dim=dim, tokens=tokens, dtype="fp32"), lookup)
    for b, s, h, d in [(1, 16, 12, 64), (1, 128, 12, 64), (1, 197, 12, 64), (4, 197, 12, 64), (1, 512, 32, 128), (8, 512, 12, 64)]:

        def turned(b: int = b, s: int = s, h: int = h, d: int = d) -> Callable[[], Any]:
            x = torch.randn(b, s, h, d)
            return lambda: x.transpose(1, 2).contiguous()

        yield Case("transpose_heads", dict(b=b, s=s, h=h, d=d, dtype="fp32"), turned)
    for b, s in itertools.product((1, 4), (1, 128, 512)):

        def joined(b: int = b, s: int = s) -> Callable[[], Any]:
            x, y = torch.randn(b, 32, s, 64), torch.randn(b, 32, s, 64)
            return lambda: torch.cat((x, y), -1)

        yield Case("cat_last", dict(b=b, h=32, s=s, d=128, dtype="fp32"), joined)
    for size in SIZES[::2]:

        def cast(size: int = size) -> Callable[[], Any]:
            x = torch.randn(size).bfloat16()
            return x.float

        yield Case("cast", dict(numel=size, dtype="bf16", to="fp32"), cast)
