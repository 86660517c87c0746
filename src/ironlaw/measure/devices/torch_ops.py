"""PyTorch's ops for a quick look: tiny ones, whose call is all that costs, and a few telling shapes of those that models are made of.

Weights come from a pool larger than the caches, walked end to end, so that they are read from memory as in a model; activations
stay where the last call left them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, product
from math import prod
from typing import Any

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call, Case

MANY = 2**18  # random numbers that a processor draws in no time; beyond, it is given constants


def launches(torch: Any, device: str, dtype: Any, n: int) -> dict[str, Call]:
    """Name, as in launch rows, and call; most on matrices of side n."""
    F, make = torch.nn.functional, dict(device=device, dtype=dtype)
    x, y, total = (torch.randn(n, n, **make) for _ in range(3))
    row, image, kernel = torch.rand(n, **make), torch.randn(1, n, 8, 8, **make), torch.randn(n, n, 3, 3, **make)
    depth, batch, heads = torch.randn(n, 1, 3, 3, **make), torch.randn(4, n, n, **make), torch.randn(1, 4, n, n, **make)
    picks, linear = torch.randint(n, (n,), device=device), torch.nn.Linear(n, n, **make)
    other = torch.float32 if dtype != torch.float32 else torch.bfloat16
    return {
        "add": lambda: x + y, "mul": lambda: x * y, "relu": lambda: F.relu(x), "gelu": lambda: F.gelu(x), "silu": lambda: F.silu(x),
        "sigmoid": lambda: torch.sigmoid(x), "copy": x.clone, "add_": lambda: total.add_(y), "mul_scalar": lambda: x * 1.5,
        "pow2": lambda: x.pow(2), "cast": lambda: x.to(other), "softmax": lambda: F.softmax(x, -1),
        "layer_norm": lambda: F.layer_norm(x, (n,), row, row), "batch_norm": lambda: F.batch_norm(image, row, row, row, row, False),
        "sum": lambda: x.sum(-1), "mean": lambda: x.mean(-1), "linear": lambda: F.linear(x, y, row), "matmul": lambda: x @ y,
        "bmm": lambda: torch.bmm(batch, batch), "conv2d": lambda: F.conv2d(image, kernel, None, 1, 1),
        "conv2d_depthwise": lambda: F.conv2d(image, depth, None, 1, 1, 1, n),
        "sdpa": lambda: F.scaled_dot_product_attention(heads, heads, heads), "embedding": lambda: F.embedding(picks, x),
        "max_pool2d": lambda: F.max_pool2d(image, 2), "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, 1),
        "cat": lambda: torch.cat((x, y)), "transpose_contiguous": lambda: x.t().contiguous(), 
        "dropout_train": lambda: F.dropout(x, 0.1, True),
        "nn_linear": lambda: linear(x), "view": lambda: x.view(-1), "empty": lambda: torch.empty(n, **make),
    }  # fmt: skip


class QuickInputs:
    """Activations and cold weights. `largest`: operations that a product may take; `on_host`: a processor, which gets fewer shapes."""

    def __init__(self, torch: Any, device: str, fmt: str, pool: int, largest: float, on_host: bool = False) -> None:
        self.torch, self.device, self.fmt, self.dtype = torch, device, fmt, FORMATS[fmt].in_torch(torch)
        self.elements, self.largest, self.on_host = pool, largest, on_host
        self.pool: Any = None
        self.at = 0

    def x(self, *shape: int) -> Any:
        if self.on_host and prod(shape) > MANY:
            return self.torch.full(shape, 0.5, dtype=self.dtype)
        return self.torch.randn(*shape, device=self.device).to(self.dtype)

    def weight(self, *shape: int) -> Any:
        """The next weight of the pool."""
        if self.pool is None:
            self.pool = self.torch.full((self.elements,), 0.5, device=self.device, dtype=self.dtype)
            if not self.on_host:
                self.pool.normal_(0, 0.5)
        size = prod(shape)
        if self.at + size > self.pool.numel():
            self.at = 0
        weight = self.pool[self.at : self.at + size].view(shape)
        self.at += -(-size // 64) * 64
        return weight


def cases(inputs: QuickInputs) -> Iterator[Case]:
    """Some hundred ops; those that models spend their time in first."""
    for part in (_linears, _convolutions, _pointwise, _rowwise, _planes, _lookups, _odd):
        yield from part(inputs.torch, inputs)


def _linears(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    shapes = ((768, 768), (3072, 768), (768, 3072), (1024, 1024), (4096, 4096))
    for (n, k), m in product(shapes, (1, 16, 128, 512, 4096)):
        if 2.0 * m * n * k > inputs.largest or (inputs.on_host and n == 4096 and m > 1):
            continue

        def make(m: int = m, n: int = n, k: int = k) -> Call:
            x, bias = inputs.x(m, k), inputs.x(n)
            return lambda: torch.nn.functional.linear(x, inputs.weight(n, k), bias)

        yield Case("linear", dict(m=m, n=n, k=k, bias=1, dtype=inputs.fmt), make)


CONVOLUTIONS = (  # c, h, out, k, stride, pad, groups: ResNet's and MobileNet's
    (3, 224, 64, 7, 2, 3, 1), (64, 56, 64, 3, 1, 1, 1), (64, 56, 256, 1, 1, 0, 1), (128, 28, 128, 3, 1, 1, 1), (512, 28, 128, 1, 1, 0, 1),
    (256, 14, 256, 3, 1, 1, 1), (1024, 14, 256, 1, 1, 0, 1), (512, 7, 512, 3, 1, 1, 1), (512, 7, 2048, 1, 1, 0, 1),
    (32, 112, 32, 3, 1, 1, 32), (144, 56, 144, 3, 1, 1, 144), (576, 14, 576, 3, 1, 1, 576),
)  # fmt: skip


def _convolutions(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    for (c, h, out, k, stride, pad, groups), n in product(CONVOLUTIONS, (1,) if inputs.on_host else (1, 32)):

        def make(n: int = n, c: int = c, h: int = h, out: int = out, k: int = k, s: int = stride, p: int = pad, g: int = groups) -> Call:
            x = inputs.x(n, c, h, h)
            return lambda: torch.nn.functional.conv2d(x, inputs.weight(out, c // g, k, k), None, s, p, 1, g)

        params = dict(n=n, c=c, h=h, w=h, out=out, kh=k, kw=k, stride=stride, ph=pad, pw=pad, groups=groups, dilation=1, bias=0)
        yield Case("conv2d", dict(params, layout="nchw", dtype=inputs.fmt), make)


def _pointwise(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    F = torch.nn.functional
    unary: dict[str, Callable[[Any], Any]] = {"relu": F.relu, "gelu": F.gelu, "sigmoid": torch.sigmoid, "copy": torch.clone}
    binary: dict[str, Callable[[Any, Any], Any]] = {"add": torch.add, "mul": torch.mul}
    for power in (10, 14, 17, 20, 22, 24 if inputs.on_host else 26):
        for op, call in unary.items():

            def one(size: int = 2**power, call: Any = call) -> Call:
                x = inputs.x(size)
                return lambda: call(x)

            yield Case(op, dict(numel=2**power, dtype=inputs.fmt), one)
        for op, both in binary.items():

            def two(size: int = 2**power, both: Any = both) -> Call:
                x, y = inputs.x(size), inputs.x(size)
                return lambda: both(x, y)

            yield Case(op, dict(numel=2**power, dtype=inputs.fmt), two)


def _rowwise(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    F = torch.nn.functional
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "layer_norm": lambda x, w: F.layer_norm(x, w.shape, w, w), "softmax": lambda x, w: F.softmax(x, -1),
        "sum": lambda x, w: x.sum(-1), "mean": lambda x, w: x.mean(-1, keepdim=True),
    }  # fmt: skip
    for (op, call), (rows, cols) in product(functions.items(), ((1, 768), (128, 768), (512, 768), (4096, 1024))):

        def make(rows: int = rows, cols: int = cols, call: Any = call) -> Call:
            x, w = inputs.x(rows, cols), inputs.x(cols)
            return lambda: call(x, w)

        yield Case(op, dict(rows=rows, cols=cols, dtype=inputs.fmt), make)


def _planes(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    F = torch.nn.functional
    for n, c, h in ((1, 64, 112), (1, 256, 56), (8, 128, 28), (8, 512, 7)):

        def norm(n: int = n, c: int = c, h: int = h) -> Call:
            x, scale = inputs.x(n, c, h, h), inputs.x(c).abs() + 0.5
            return lambda: F.batch_norm(x, scale, scale, scale, scale, False)

        def mean(n: int = n, c: int = c, h: int = h) -> Call:
            x = inputs.x(n, c, h, h)
            return lambda: x.mean((2, 3))

        def pool(n: int = n, c: int = c, h: int = h) -> Call:
            x = inputs.x(n, c, h, h)
            return lambda: F.max_pool2d(x, 3, 2, 1)

        shape = dict(n=n, c=c, h=h, w=h, dtype=inputs.fmt)
        yield Case("batch_norm", shape, norm)
        yield Case("mean_hw", shape, mean)
        yield Case("max_pool2d", dict(shape, k=3, stride=2, pad=1), pool)


def _lookups(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    F = torch.nn.functional
    for s, causal in ((128, 0), (197, 0), (512, 1), (1024, 1)):

        def attend(s: int = s, causal: int = causal) -> Call:
            q, k, v = (inputs.x(1, s, 12, 64).transpose(1, 2) for _ in "qkv")
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))

        yield Case("sdpa", dict(b=1, h=12, hkv=12, sq=s, sk=s, d=64, causal=causal, dtype=inputs.fmt), attend)
    for tokens in (1, 128, 1024):

        def look_up(tokens: int = tokens) -> Call:
            table = inputs.x(30522, 768)
            picks = cycle([torch.randint(30522, (tokens,), device=inputs.device) for _ in range(8)])
            return lambda: F.embedding(next(picks), table)

        yield Case("embedding", dict(vocab=30522, dim=768, tokens=tokens, dtype=inputs.fmt), look_up)


def _odd(torch: Any, inputs: QuickInputs) -> Iterator[Case]:
    """What takes another kernel than its neighbours: a vocabulary of odd size, one new token, a mask, groups, heads turned round."""
    F, host = torch.nn.functional, inputs.on_host
    for m in (1, 16, 64) if host else (1, 128, 4096):

        def vocabulary(m: int = m) -> Call:
            x = inputs.x(m, 768)
            return lambda: F.linear(x, inputs.weight(50257, 768))

        yield Case("linear", dict(m=m, n=50257, k=768, bias=0, dtype=inputs.fmt), vocabulary)
    for sk in (512, 2048, 8192):

        def token(sk: int = sk) -> Call:
            q, k, v = (inputs.x(1, s, 16, 64).transpose(1, 2) for s in (1, sk, sk))
            return lambda: F.scaled_dot_product_attention(q, k, v)

        yield Case("sdpa", dict(b=1, h=16, hkv=16, sq=1, sk=sk, d=64, causal=0, dtype=inputs.fmt), token)
    for s in () if host else (256, 512, 1024):

        def masked(s: int = s) -> Call:
            q, k, v = (inputs.x(4, s, 12, 64).transpose(1, 2) for _ in "qkv")
            mask = torch.ones(s, s, dtype=torch.bool, device=inputs.device).tril().expand(4, 1, s, s)
            return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        yield Case("sdpa_masked", dict(b=4, h=12, hkv=12, sq=s, sk=s, d=64, causal=1, dtype=inputs.fmt), masked)
    for n, c, h in ((1, 320, 64), (2, 640, 32), (1, 1280, 16)):

        def grouped(n: int = n, c: int = c, h: int = h) -> Call:
            x, w = inputs.x(n, c, h, h), inputs.x(c)
            return lambda: F.group_norm(x, 32, w, w)

        yield Case("group_norm", dict(n=n, c=c, h=h, w=h, groups=32, dtype=inputs.fmt), grouped)
    for b, s in ((1, 128), (1, 512), (8, 512)):

        def turned(b: int = b, s: int = s) -> Call:
            x = inputs.x(b, s, 12, 64)
            return lambda: x.transpose(1, 2).contiguous()

        def products(b: int = b, s: int = s) -> Call:
            x, y = inputs.x(b * 12, s, 64), inputs.x(b * 12, 64, s)
            return lambda: torch.bmm(x, y)

        yield Case("transpose_heads", dict(b=b, s=s, h=12, d=64, dtype=inputs.fmt), turned)
        yield Case("bmm", dict(b=b * 12, m=s, n=s, k=64, dtype=inputs.fmt), products)
