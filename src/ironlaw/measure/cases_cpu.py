"""The wide sweep for a processor: which ops, at which shapes. FP32, as models run there; batch sizes that a processor is given.

A case prepares its inputs and returns the call to time. Weights are walked through a pool far larger than the caches, so
they come from memory, as in a model whose layers take turns; activations stay where the last call left them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ironlaw.measure.machine import compiler

POOL = 64 * 2**20  # elements: 256 MiB, more than any last-level cache
LARGEST = 1.2e10  # operations of a product that is worth the wait


@dataclass(frozen=True)
class Case:
    """One op at one shape, as a row of evidence names it."""

    op: str
    params: dict[str, Any]
    prepare: Callable[[], Callable[[], Any]]


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
        found = self.buffer[self.at : self.at + size].view(shape)
        self.at += -(-size // 16) * 16
        return found


def cases() -> Iterator[Case]:
    """Every case, kind by kind."""
    weights = Weights()
    yield from linears(weights)
    yield from convolutions(weights)
    yield from pointwise()
    yield from rowwise()
    yield from planes()
    yield from attention()
    yield from products()
    yield from movement()
    yield from loops()


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


LOOP_SHAPES = [(16, 768), (128, 768), (512, 768), (4096, 768), (64, 3136), (256, 784), (2048, 1024), (8192, 1024)]


def loops() -> Iterator[Case]:
    """Loops that torch.compile writes for a processor; nothing where no C++ compiler is found.

    `dear`: how many elements go through a function such as an exponential; `rows`: how many rows are reduced.
    """
    import torch
    import torch.nn.functional as F

    if not compiler():
        return
    written: dict[str, tuple[Callable[..., Any], int, str]] = {
        "scaled_relu": (lambda x: F.relu(x * 1.5 + 0.5), 1, ""), "added_relu": (lambda x, y: F.relu(x + y), 2, ""),
        "gelu": (lambda x: F.gelu(x * 1.5), 1, "dear"), "gated": (lambda x, y: F.silu(x) * y, 2, "dear"),
        "normed": (lambda x, y: F.layer_norm(x + y, x.shape[-1:]), 2, "rows"), "softmax": (lambda x: F.softmax(x * 0.1, -1), 1, "both"),
    }  # fmt: skip
    for (name, (call, inputs, what)), (rows, cols) in itertools.product(written.items(), LOOP_SHAPES):

        def prepare(call: Callable[..., Any] = call, inputs: int = inputs, rows: int = rows, cols: int = cols) -> Callable[[], Any]:
            return _compiled(call, [torch.randn(rows, cols) for _ in range(inputs)])

        params: dict[str, Any] = {"what": name, "read_bytes": 4 * inputs * rows * cols, "written_bytes": 4 * rows * cols, "dtype": "fp32"}
        params |= {"dear": rows * cols} if what in ("dear", "both") else {}
        yield Case("generated", params | ({"rows": rows} if what in ("rows", "both") else {}), prepare)


def _compiled(call: Callable[..., Any], given: list[Any]) -> Callable[[], Any]:
    import torch

    found = torch.compile(call, dynamic=False)
    found(*given)
    return lambda: found(*given)


def calls() -> dict[str, Callable[[], Any]]:
    """Ops on tiny tensors, as functions and as modules: what a call costs the host."""
    import torch
    import torch.nn.functional as F

    nn = torch.nn
    x, image, row = torch.randn(8, 8), torch.randn(1, 8, 4, 4), torch.randn(8)
    conv, linear, norm, planes = nn.Conv2d(8, 8, 1), nn.Linear(8, 8), nn.LayerNorm(8), nn.BatchNorm2d(8).eval()
    relu, gelu = nn.ReLU(), nn.GELU()
    entered = {"compiled": _compiled(lambda x: x * 1.5 + 0.5, [x])} if compiler() else {}  # all that a compiled call costs beside its loops
    return entered | {
        "add": lambda: x + x, "mul": lambda: x * x, "relu": lambda: F.relu(x), "gelu": lambda: F.gelu(x), "copy": x.clone,
        "softmax": lambda: F.softmax(x, -1), "layer_norm": lambda: F.layer_norm(x, (8,), norm.weight, norm.bias),
        "linear": lambda: F.linear(x, linear.weight, linear.bias), "conv2d": lambda: F.conv2d(image, conv.weight, conv.bias),
        "batch_norm": lambda: F.batch_norm(image, planes.running_mean, planes.running_var, planes.weight, planes.bias, False),
        "mean": lambda: x.mean(-1), "embedding": lambda: F.embedding(torch.zeros(1, dtype=torch.int64), x), "matmul": lambda: x @ x,
        "sum": row.sum, "view": lambda: x.view(64),
        "nn_relu": lambda: relu(x), "nn_gelu": lambda: gelu(x), "nn_layer_norm": lambda: norm(x), "nn_linear": lambda: linear(x),
        "nn_conv2d": lambda: conv(image), "nn_batch_norm": lambda: planes(image),
    }  # fmt: skip
