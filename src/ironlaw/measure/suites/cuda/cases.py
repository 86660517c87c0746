"""The wide sweep for a GPU: which ops, at which shapes, as rows of evidence name them. The calls are in `calls_cuda`.

Here are the shapes that models are made of, the most important ones first; `cases_cuda_more` has those that were found wanting.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

Wanted = tuple[str, dict[str, Any]]  # an op and its params


def ops() -> Iterator[Wanted]:
    """Every case of the main part."""
    for found in (convolutions, linears, norms, pointwise, attention, rowwise, broadcasts, lookups, movement, choices, products):
        yield from found()


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


def conv(n: int, shape: tuple[int, ...], layout: str, dtype: str = "fp16", bias: int = 0) -> Wanted:
    """One convolution; shape is (c, h, w, out, kh, kw, stride, ph, pw, groups)."""
    names = ("c", "h", "w", "out", "kh", "kw", "stride", "ph", "pw", "groups")
    return "conv2d", {"n": n, **dict(zip(names, shape, strict=True)), "dilation": 1, "bias": bias, "layout": layout, "dtype": dtype}


def square(c: int, h: int, out: int, k: int, stride: int, pad: int, groups: int = 1) -> tuple[int, ...]:
    return c, h, h, out, k, k, stride, pad, pad, groups


def convolutions() -> Iterator[Wanted]:
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


ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 197, 256, 512, 1024, 2048, 4096, 6304, 8192, 16384)
LINEAR = [  # outputs, inputs
    (768, 768), (3072, 768), (768, 3072), (2304, 768), (1024, 1024), (4096, 1024), (1024, 4096), (4096, 4096), (14336, 4096),
    (4096, 14336), (1000, 2048), (12, 64), (2, 768), (30522, 768), (50257, 768), (50304, 768), (32000, 2048), (512, 512), (256, 256),
    (8192, 8192), (28672, 8192),
]  # fmt: skip
LINEAR_BF16 = [(1024, 4096), (4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096), (2048, 2048), (8192, 2048), (512, 2048)]
LINEAR_FP32 = [(768, 768), (3072, 768), (4096, 4096)]
LARGEST = 2e9  # elements of a result


def linear(m: int, n: int, k: int, bias: int, dtype: str) -> Wanted:
    return "linear", dict(m=m, n=n, k=k, bias=bias, dtype=dtype)


def linears() -> Iterator[Wanted]:
    yield from (linear(m, n, k, 1, "fp16") for (n, k), m in product(LINEAR, ROWS) if m * n <= LARGEST)
    yield from (linear(m, n, k, 0, "bf16") for (n, k), m in product(LINEAR_BF16, ROWS) if m * n <= LARGEST)
    for dtype, (n, k), m in product(("fp32", "tf32"), LINEAR_FP32, (1, 64, 512, 4096)):
        yield linear(m, n, k, 1, dtype)


def products() -> Iterator[Wanted]:
    shapes = [(197, 197, 64), (197, 64, 197), (512, 512, 64), (512, 64, 512), (128, 128, 64), (1, 512, 128)]
    for dtype, (m, n, k), b in product(("fp16", "fp32"), shapes, (12, 96, 384)):
        yield "bmm", dict(b=b, m=m, n=n, k=k, dtype=dtype)


PLANES = [
    (64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7), (96, 112), (144, 56), (960, 7),
]  # fmt: skip


def planes(n: int, c: int, h: int, **more: Any) -> dict[str, Any]:
    return {"n": n, "c": c, "h": h, "w": h, **more, "dtype": "fp16"}


def norms() -> Iterator[Wanted]:
    yield from (("batch_norm", planes(n, c, h)) for (c, h), n in product(PLANES, (1, 8, 32, 128)))
    yield from (("group_norm", planes(n, c, h, groups=32)) for n, c, h in ((1, 320, 64), (8, 320, 64), (1, 1280, 16)))


HALF = (
    "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "pow2", "neg", "mul_scalar", "add_scalar", "hardtanh", "clamp", "copy",
    "dropout_train",
)  # fmt: skip
SIZES = tuple(2**power for power in (10, 12, 14, 16, 18, 20, 22, 24, 26, 27, 28))
CASTS = (("fp16", "fp32"), ("fp32", "fp16"), ("bf16", "fp32"))


def pointwise() -> Iterator[Wanted]:
    named = [(op, "fp16") for op in HALF] + [("rsqrt", "fp32"), ("pow2", "fp32")]
    named += [(op, dtype) for dtype, op in product(("fp16", "fp32"), ("add", "mul"))] + [("add_", "fp16"), ("fill_", "fp16")]
    yield from ((op, dict(numel=size, dtype=dtype)) for (op, dtype), size in product(named, SIZES))
    yield from (("cast", dict(numel=size, dtype=dtype, to=to)) for (dtype, to), size in product(CASTS, SIZES))


def broadcasts() -> Iterator[Wanted]:
    for cols, rows in product((768, 4096), (1, 8, 64, 512, 4096, 32768, 65536)):
        yield "mul_row", dict(rows=rows, cols=cols, dtype="fp16")
        yield "mul_col", dict(rows=rows, cols=cols, dtype="fp32")
    yield from (("mul_rope", dict(b=b, h=h, s=s, d=128, dtype="bf16")) for b, h, s in product((1, 8), (32, 8), (1, 512, 2048)))
    yield from (("add_pos", dict(b=b, s=s, d=d, dtype="fp16")) for b, s, d in product((1, 8, 32), (197, 512), (768, 1024)))


ATTENTION = [  # heads, heads of keys, queries, keys, width, causal
    (12, 12, 128, 128, 64, 0), (12, 12, 197, 197, 64, 0), (12, 12, 512, 512, 64, 1), (12, 12, 1024, 1024, 64, 1),
    (16, 16, 1024, 1024, 64, 0), (32, 8, 512, 512, 128, 1), (32, 8, 2048, 2048, 128, 1), (32, 32, 2048, 2048, 128, 1),
    (32, 8, 1, 512, 128, 0), (32, 8, 1, 2048, 128, 0), (32, 8, 1, 8192, 128, 0),
]  # fmt: skip


def attention() -> Iterator[Wanted]:
    for dtype, (h, hkv, sq, sk, d, causal), b in product(("fp16", "bf16"), ATTENTION, (1, 8, 32)):
        yield "sdpa", dict(b=b, h=h, hkv=hkv, sq=sq, sk=sk, d=d, causal=causal, dtype=dtype)


ROW_SHAPES = [
    (1, 768), (128, 768), (197, 768), (512, 768), (4096, 768), (6304, 768), (16384, 768), (1, 4096), (8, 4096), (512, 4096),
    (4096, 4096), (32768, 4096), (65536, 1024), (2048, 1024), (12 * 512, 512), (384 * 197, 197), (16384, 8192),
]  # fmt: skip
ROW_OPS = [
    ("layer_norm", "fp16"), ("softmax", "fp16"), ("softmax", "fp32"), ("rms_norm", "fp16"), ("mean", "fp32"), ("sum", "fp32"),
    ("sum", "fp16"), ("var", "fp32"),
]  # fmt: skip


def rowwise() -> Iterator[Wanted]:
    yield from ((op, dict(rows=r, cols=c, dtype=dtype)) for (op, dtype), (r, c) in product(ROW_OPS, ROW_SHAPES))
    for (r, c), op in product([(512, 50257), (4096, 32000), (128, 1000)], ("log_softmax", "cross_entropy")):
        yield op, dict(rows=r, cols=c, dtype="fp16")
    yield from (("sum_all", dict(numel=2**power, dtype=dtype)) for power, dtype in product(range(12, 29, 2), ("fp16", "fp32")))


def lookups() -> Iterator[Wanted]:
    for vocab, dim, tokens in product((50257, 128256), (768, 4096), (1, 128, 512, 4096, 16384)):
        yield "embedding", dict(vocab=vocab, dim=dim, tokens=tokens, dtype="fp16")


IMAGES = [(32, 112), (96, 112), (144, 56), (384, 14), (960, 7)]
PADS = [(1, 1, 1, 1), (0, 1, 0, 1), (0, 0, 0, 0)]
HEADS = [(1, 197, 12, 64), (32, 197, 12, 64), (1, 512, 32, 128), (8, 512, 32, 128), (8, 2048, 32, 128), (8, 512, 12, 64)]


def movement() -> Iterator[Wanted]:
    """Copies, concatenations, pads, pools."""
    yield from (("cat_last", dict(b=b, h=32, s=s, d=128, dtype="bf16")) for b, s in product((1, 8), (1, 512, 2048)))
    yield from (("cat_seq", dict(b=b, h=8, ctx=ctx, d=128, dtype="bf16")) for b, ctx in product((1, 8), (512, 2048, 8192)))
    yield from (("cat_token", dict(b=b, s=196, d=768, dtype="fp16")) for b in (1, 32))
    yield from (("transpose_heads", dict(b=b, s=s, h=h, d=d, dtype="fp16")) for b, s, h, d in HEADS)
    for rows, cols in ((197, 768), (1024, 1024), (4096, 4096), (16384, 4096)):
        yield "transpose_2d", dict(rows=rows, cols=cols, dtype="fp16")
    for (c, h), n, pad in product(IMAGES, (1, 32, 128), PADS):
        yield "pad", {**planes(n, c, h), **dict(zip(("left", "right", "top", "bottom"), pad, strict=True))}
    for n in (1, 8, 32, 128):
        yield "max_pool2d", planes(n, 64, 112, k=3, stride=2, pad=1)
        yield "avg_pool2d", planes(n, 256, 56, k=2, stride=2, pad=0)
        for (c, h, w), op in product([(2048, 7, 7), (1280, 7, 7), (64, 25, 5)], ("adaptive_avg_pool2d", "mean_hw")):
            yield op, dict(n=n, c=c, h=h, w=w, dtype="fp16")
    yield from (("upsample_nearest", planes(n, c, h, scale=2)) for n, c, h in ((1, 320, 32), (8, 320, 32), (1, 1280, 16), (8, 640, 32)))


def choices() -> Iterator[Wanted]:
    """What picks, sorts, masks and counts."""
    yield from (("argmax", dict(rows=r, cols=c, dtype="fp16")) for r, c in ((1, 50257), (16, 128256), (512, 1000), (4096, 32000)))
    yield from (("topk", dict(rows=rows, cols=8, k=2, dtype="fp32")) for rows in (1, 64, 512, 4096, 16384))
    yield from (("cumsum", dict(rows=r, cols=c, dtype="fp32")) for r, c in ((1, 8), (1, 512), (8, 512), (64, 2048)))
    masked = ("compare_masked_fill", "bool_where", "masked_fill", "where")
    for (b, h, s), op in product([(1, 12, 128), (8, 12, 512), (1, 32, 2048)], masked):
        yield op, dict(b=b, h=h, s=s, dtype="fp16")
    picked = [(4096, 768, 512), (65536, 1024, 4096), (32768, 4096, 16384)]
    for (rows, cols, picks), op in product(picked, ("index_select", "index", "gather")):
        yield op, dict(rows=rows, cols=cols, picks=picks, dtype="fp16")
    yield from (("arange", dict(numel=numel, dtype="int64")) for numel in (128, 2048, 2**20))
