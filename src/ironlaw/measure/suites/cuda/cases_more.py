"""Further cases for a GPU: attention at many sizes and gradients (`more`), norms and grouped convolutions (`norms`), kernels that
torch.compile writes (`generated`), group norm as it writes it around convolutions (`groups`), recurrent layers and weights stored
in few bits (`recurrent`), products of few rows (`narrow`), and what a mixture of experts runs (`experts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from ironlaw.measure.suites.cuda.cases import Wanted, conv, linear, planes, square


def more() -> Iterator[Wanted]:
    yield from depthwise()
    yield from movement()
    yield from backward()
    yield from attention()


def depthwise() -> Iterator[Wanted]:
    """Kernels of 3, 5 and 7 on images whose channels lie innermost."""
    images = ((96, 56), (192, 28), (384, 14), (768, 7), (64, 112), (144, 56))
    for n, (c, hw), k in product((1, 32), images, (3, 5, 7)):
        yield "depthwise_nhwc", dict(n=n, c=c, hw=hw, k=k, dtype="fp16")


def movement() -> Iterator[Wanted]:
    for n, s, c in ((1, 56, 96), (32, 56, 96), (32, 28, 192), (32, 14, 384), (8, 56, 96)):
        yield "roll", dict(shape=[n, s, s, c], numel=n * s * s * c, dtype="fp16")
    shapes = ((1, 512, 12, 64), (8, 512, 12, 64), (8, 1500, 6, 64), (32, 128, 16, 64), (8, 4096, 8, 40), (2, 2048, 32, 128))
    for (b, s, h, d), op in product(shapes, ("clone_heads", "add_permuted")):
        yield op, dict(b=b, s=s, h=h, d=d, numel=b * s * h * d, dtype="fp16")


CONVOLUTIONS = [  # n, c, side, outputs, kernel, stride
    (32, 64, 56, 64, 3, 1), (32, 256, 56, 64, 1, 1), (32, 128, 28, 128, 3, 1), (32, 512, 28, 128, 1, 1), (32, 256, 14, 256, 3, 1),
    (32, 512, 7, 512, 3, 1), (32, 256, 56, 512, 1, 2), (8, 64, 56, 64, 3, 1),
]  # fmt: skip
ATTENDED = [(4, 12, 512, 64, 1), (8, 12, 512, 64, 0), (1, 32, 2048, 128, 1), (4, 16, 1024, 64, 1), (32, 12, 128, 64, 0)]


def backward() -> Iterator[Wanted]:
    """Gradients that PyTorch computes in kernels of their own, and an optimiser's step."""
    for rows, width in ((512, 768), (4096, 768), (16384, 768), (4096, 4096), (32768, 1024)):
        yield "layer_norm_backward", dict(rows=rows, width=width, dtype="fp16")
    for n, c, h, out, k, stride in CONVOLUTIONS:
        yield "conv_backward", dict(n=n, c=c, h=h, out=out, k=k, stride=stride, dtype="fp16")
    for b, heads, s, d, causal in ATTENDED:
        yield "sdpa_backward", dict(b=b, h=heads, s=s, d=d, causal=causal, dtype="fp16")
    for tensors, size in ((10, 1000), (150, 100_000), (150, 1_000_000), (60, 4_000_000)):
        yield "adamw", dict(tensors=tensors, size=size, dtype="fp32")


HEADS = (32, 40, 64, 80, 96, 128, 256)
LENGTHS = [
    (49, 49), (64, 64), (77, 77), (128, 128), (197, 197), (256, 256), (512, 512), (577, 577), (1024, 1024), (1500, 1500),
    (2048, 2048), (4096, 4096), (4096, 77), (1, 512), (1, 4096),
]  # fmt: skip
ODD, LEFT_OUT = (40, 80, 96, 256), (64, 512, 1024, 2048)  # widths, and lengths that are not measured at them
SCORES = 4e9  # elements, the most


def attention() -> Iterator[Wanted]:
    """Without a mask, causal, and with a mask tensor."""
    for d, (sq, sk), many in product(HEADS, LENGTHS, (8, 96, 1536)):
        h = 12 if many > 8 else 8
        b = max(1, many // h)
        if b * h * sq * sk > SCORES or (d in ODD and sq in LEFT_OUT):
            continue
        for style in ("plain", "causal", "mask"):
            if (style == "causal" and sq != sk) or (style == "mask" and (d not in (32, 64, 128) or many == 8)):
                continue
            yield sdpa(b, h, sq, sk, d, causal=int(style == "causal"), mask=int(style == "mask"))


def sdpa(b: int, h: int, sq: int, sk: int, d: int, causal: int = 0, op: str = "sdpa", **more: int) -> Wanted:
    return op, {"b": b, "h": h, "hkv": h, "sq": sq, "sk": sk, "d": d, "causal": causal, **more, "dtype": "fp16"}


NORMED = [  # rows, columns
    (65536, 32), (262144, 32), (16384, 64), (131072, 64), (3136, 96), (100352, 96), (25088, 128), (4096, 128), (4096, 160),
    (784, 192), (25088, 192), (6272, 256), (4096, 256), (32768, 320), (6272, 384), (12000, 384), (1568, 512), (25088, 512),
]  # fmt: skip
IMAGES = [
    (32, 64, 112), (32, 64, 56), (32, 256, 56), (32, 128, 28), (32, 512, 28), (32, 256, 14), (32, 1024, 14), (32, 512, 7),
    (32, 2048, 7), (8, 64, 56), (8, 512, 14), (128, 256, 56),
]  # fmt: skip
GROUPED = [  # n, c, side, groups, stride
    (16, 512, 14, 8, 1), (16, 192, 28, 3, 1), (16, 128, 56, 2, 1), (16, 128, 112, 2, 2), (16, 1088, 7, 17, 1), (16, 192, 56, 3, 2),
    (1, 512, 14, 8, 1), (1, 128, 56, 2, 1), (32, 128, 56, 32, 1), (32, 256, 28, 32, 1), (32, 1024, 7, 32, 1), (64, 512, 14, 8, 1),
]  # fmt: skip


def norms() -> Iterator[Wanted]:
    yield from (("layer_norm", dict(rows=rows, cols=cols, dtype="fp16")) for rows, cols in NORMED)
    grouped = ((8, 64, 56, 1), (8, 128, 28, 1), (8, 320, 14, 1), (8, 512, 7, 1), (32, 64, 56, 1), (1, 64, 56, 1), (8, 64, 56, 8))
    yield from (("group_norm", planes(n, c, h, groups=groups)) for n, c, h, groups in grouped)
    yield from ((op, planes(*image)) for image, op in product(IMAGES, ("batch_norm_train", "batch_norm_backward")))
    yield from (conv(n, square(c, h, c, 3, stride, 1, groups), "nchw") for n, c, h, groups, stride in GROUPED)
    for image in ((8, 64, 56), (8, 128, 28), (8, 320, 14), (8, 512, 7), (32, 64, 56), (32, 256, 56)):
        yield "avg_pool2d", planes(*image, k=3, stride=1, pad=1)
    for image in ((32, 64, 112), (8, 64, 112), (32, 64, 56)):
        yield "max_pool2d_backward", planes(*image, k=3, stride=2, pad=1)
    yield from gradients()


COLUMNS = ((2048, 768), (3152, 768), (2048, 3072), (3152, 3072), (16384, 1024), (2048, 30522), (512, 768), (8192, 4096))
TABLES = ((30522, 768, 2048), (512, 768, 128), (50257, 768, 2048), (2, 768, 128), (32000, 1024, 2048))
MATHS = ((4, 12, 256, 64), (8, 8, 512, 64), (2, 16, 1024, 64), (32, 12, 128, 64), (1, 12, 2048, 64))
BIASED = ((2048, 3, 49, 32, 1), (128, 12, 49, 32, 1), (512, 6, 49, 32, 0), (8, 12, 256, 64, 1), (4, 12, 512, 64, 1))


def gradients() -> Iterator[Wanted]:
    """Sums over rows and further gradients; attention that no fused kernel takes, and with a bias for each head."""
    yield from (("sum_columns", dict(rows=rows, cols=cols, dtype="fp16")) for rows, cols in COLUMNS)
    for rows, cols in ((2048, 3072), (3152, 3072), (512, 3072), (16384, 4096)):
        yield "gelu_backward", dict(numel=rows * cols, dtype="fp16")
    for vocab, dim, tokens in TABLES:
        yield "embedding_backward", dict(vocab=vocab, dim=dim, tokens=tokens, dtype="fp16")
    yield from (sdpa(b, h, s, s, d, op="sdpa_math") for b, h, s, d in MATHS)
    yield from (sdpa(b, h, s, s, d, mask=1, heads=h, whole=whole) for b, h, s, d, whole in BIASED)


# ---- what torch.compile writes: `read_bytes` and `written_bytes` are what must move

MASKED = [
    (1, 12, 512, 64), (4, 12, 512, 64), (16, 12, 512, 64), (4, 16, 1024, 64), (1, 32, 512, 128), (8, 32, 512, 128), (4, 32, 512, 64),
    (1, 32, 2048, 128), (4, 32, 2048, 128), (2, 16, 2048, 64), (8, 16, 256, 64),
]  # fmt: skip
UNET_NORMS = ((320, 64), (320, 32), (640, 32), (640, 16), (1280, 16), (1280, 8), (128, 128), (512, 64))


def generated() -> Iterator[Wanted]:
    """Before them, as a compiled model has them: attention with the causal mask as a tensor, and group norm."""
    yield from (sdpa(b, h, s, s, d, causal=1, op="sdpa_masked") for b, h, s, d in MASKED)
    yield from (("group_norm", planes(n, c, h, groups=32)) for n, (c, h) in product((1, 2, 8), UNET_NORMS))
    for power in (12, 16, 20, 22, 24, 26, 27):
        numel = 2**power
        for function, inputs in (("relu", 1), ("mul_add_relu", 3), ("gelu_tanh", 1), ("silu_mul", 2)):
            yield written(function, dict(numel=numel, dtype="fp16"), 2 * inputs * numel, 2 * numel)
    yield from by_rows()
    yield from affine()


def written(function: str, params: dict[str, Any], read: int, out: int) -> Wanted:
    return "generated", {"function": function, **params, "read_bytes": read, "written_bytes": out}


ROWS = [
    (1, 768), (128, 768), (512, 768), (4096, 768), (8192, 768), (16384, 768), (512, 4096), (4096, 4096), (2048, 1024), (16384, 8192),
    (25088, 32), (200704, 32), (6272, 64), (50176, 64), (3136, 96), (50176, 96), (25088, 128), (1568, 160), (12544, 192), (1568, 256),
    (6272, 384), (50176, 512),
]  # fmt: skip


def by_rows() -> Iterator[Wanted]:
    for rows, cols in ROWS:
        size, params = 2 * rows * cols, dict(rows=rows, cols=cols, dtype="fp16")
        yield written("add_layer_norm", params, 2 * size, 2 * size)
        yield written("add_rms_norm", params, 2 * size, 2 * size)
        yield written("softmax", params, size, size)


def affine() -> Iterator[Wanted]:
    """Batch norm at inference and ReLU on images whose channels lie innermost: alone, with a residual, and then the mean."""
    for n, (c, h) in product((1, 32, 128), ((64, 112), (256, 56), (512, 28), (1024, 14), (2048, 7))):
        size, params = 2 * n * c * h * h, dict(n=n, c=c, h=h, dtype="fp16")
        yield written("bn_relu", params, size, size)
        yield written("bn_add_relu", params, 2 * size, size)
        yield written("bn_relu_mean", {**params, "rows": n * c, "over": "plane"}, size, 2 * n * c)


LAYERS = [  # steps, batch, features, hidden, layers, both directions
    (128, 32, 512, 512, 1, 0), (128, 32, 512, 512, 2, 0), (256, 64, 1024, 1024, 1, 0), (50, 1, 256, 256, 1, 0), (100, 16, 128, 128, 1, 0),
    (200, 8, 768, 768, 1, 1), (64, 256, 256, 512, 1, 0), (1, 32, 512, 512, 1, 0), (400, 32, 512, 512, 1, 0), (128, 20, 300, 650, 1, 0),
]  # fmt: skip
SMALL = [  # states that one block may keep for all steps
    (100, 1, 64, 64, 1, 0), (100, 32, 64, 64, 1, 0), (400, 8, 128, 128, 1, 0), (50, 64, 128, 128, 1, 0), (100, 4, 192, 192, 1, 0),
    (200, 32, 192, 192, 1, 0), (100, 128, 128, 128, 1, 0), (100, 16, 128, 128, 2, 1), (100, 8, 256, 256, 1, 0), (100, 32, 384, 384, 1, 0),
    (50, 1, 384, 384, 1, 0), (64, 16, 256, 256, 1, 0), (200, 64, 512, 768, 1, 0), (64, 128, 1024, 1024, 1, 0),
]  # fmt: skip


def recurrent() -> Iterator[Wanted]:
    """Recurrent layers, and products with weights stored in 8 or 4 bits."""
    names = ("steps", "batch", "features", "hidden", "layers", "both")
    for op, dtype, shape in product(("lstm", "gru", "rnn_tanh"), ("fp16", "fp32"), LAYERS + SMALL):
        yield op, {**dict(zip(names, shape, strict=True)), "dtype": dtype}
    for bits, (k, n), m in product((8, 4), ((4096, 4096), (4096, 14336), (14336, 4096)), (1, 8, 32, 256, 1024)):
        yield f"weight_int{bits}_mm", dict(m=m, k=k, n=n, dtype="bf16")


BETWEEN = (832, 896, 960, 1000, 1024, 1088, 1152, 1216, 1280, 1408)  # outputs for which the library takes other tiles
SIDES = (256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
FEW = (1, 2, 4, 8, 16)  # rows


def narrow() -> Iterator[Wanted]:
    """A few rows against a weight: decoding, and small networks that answer one request at a time."""
    yield from (linear(m, n, k, 1, "fp16") for m, n, k in product(FEW, SIDES, SIDES))
    yield from (linear(m, n, k, 0, "bf16") for m, n, k in product((1, 8), SIDES, SIDES))
    more = ((m, n, k) for m, n, k in product((1, 2, 4, 6), BETWEEN, (512, 1024, 2048)) if m not in FEW or n not in SIDES)
    yield from (linear(m, n, k, 1, "fp16") for m, n, k in more)


EXPERTS = [  # experts, inputs, outputs
    (8, 1024, 7168), (8, 3584, 1024), (8, 4096, 28672), (8, 14336, 4096), (16, 1024, 1024), (32, 2880, 5760), (64, 2048, 2816),
    (64, 1408, 2048), (128, 2048, 1536), (128, 768, 2048),
]  # fmt: skip


def experts() -> Iterator[Wanted]:
    """Tokens put in the order of their experts, counted, multiplied by each expert's weight in one launch, and put back."""
    for numel in (2, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 32768, 262144):
        yield from ((op, dict(numel=numel, dtype="int64")) for op in ("sort", "histogram", "index_put"))
    for (count, k, n), m in product(EXPERTS, (2, 16, 64, 512, 4096, 16384)):
        yield "grouped_mm", dict(m=m, experts=count, k=k, n=n, dtype="bf16")


def groups() -> Iterator[Wanted]:
    """Group norm and SiLU, compiled, before a convolution: of an image as the convolution before it left it, or as it was given."""
    for n, (c, h), layout in product((1, 8), UNET_NORMS, ("nhwc", "nchw")):
        yield "generated_norm", planes(n, c, h, groups=32, layout=layout)
