"""Time attention at many head sizes, depthwise convolutions on NHWC, rolls and strided copies, and backward kernels.

    python3 benchmarks/device/more.py --out DIR [--seconds 240]

Writes DIR/more.json in the form of ops.py. Needs torch, and ops.py beside it.
"""

import argparse
import itertools
import os

import torch
import torch.nn.functional as F
from ops import act, sweep, weight

HEADS = [32, 40, 64, 80, 96, 128, 256]
LENGTHS = [
    (49, 49),
    (64, 64),
    (77, 77),
    (128, 128),
    (197, 197),
    (256, 256),
    (512, 512),
    (577, 577),
    (1024, 1024),
    (1500, 1500),
    (2048, 2048),
    (4096, 4096),
    (4096, 77),
    (1, 512),
    (1, 4096),
]


def attention():
    """Without a mask, causal, and with a mask tensor; operands as transposed views of [b, s, h, d]."""
    for d, (sq, sk), many in itertools.product(HEADS, LENGTHS, (8, 96, 1536)):
        h = 12 if many > 8 else 8
        b = max(1, many // h)
        if b * h * sq * sk > 4e9 or (d in (40, 80, 96, 256) and sq in (64, 512, 1024, 2048)):
            continue
        for style in ("plain", "causal", "mask"):
            if (style == "causal" and sq != sk) or (style == "mask" and (d not in (32, 64, 128) or many == 8)):
                continue

            def prepare(b=b, h=h, sq=sq, sk=sk, d=d, style=style):
                q, k, v = (act((b, s, h, d)).transpose(1, 2) for s in (sq, sk, sk))
                mask = act((b, 1, sq, sk)) if style == "mask" else None
                return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=style == "causal")

            params = dict(b=b, h=h, hkv=h, sq=sq, sk=sk, d=d, causal=int(style == "causal"), mask=int(style == "mask"), dtype="fp16")
            yield "sdpa", params, prepare


def depthwise():
    """Kernels of 3, 5 and 7 on NHWC tensors."""
    for n, (c, hw), k in itertools.product((1, 32), ((96, 56), (192, 28), (384, 14), (768, 7), (64, 112), (144, 56)), (3, 5, 7)):

        def prepare(n=n, c=c, hw=hw, k=k):
            x, w = act((n, c, hw, hw), nhwc=True), weight((c, 1, k, k))
            return lambda: F.conv2d(x, w, padding=k // 2, groups=c)

        yield "depthwise_nhwc", dict(n=n, c=c, hw=hw, k=k, dtype="fp16"), prepare


def movement():
    for n, s, c in ((1, 56, 96), (32, 56, 96), (32, 28, 192), (32, 14, 384), (8, 56, 96)):

        def roll(n=n, s=s, c=c):
            x = act((n, s, s, c))
            return lambda: torch.roll(x, (-3, -3), (1, 2))

        yield "roll", dict(shape=[n, s, s, c], numel=n * s * s * c, dtype="fp16"), roll
    for b, s, h, d in ((1, 512, 12, 64), (8, 512, 12, 64), (8, 1500, 6, 64), (32, 128, 16, 64), (8, 4096, 8, 40), (2, 2048, 32, 128)):

        def heads(b=b, s=s, h=h, d=d):
            x = act((b, s, h, d)).transpose(1, 2)
            return lambda: x.contiguous()

        yield "clone_heads", dict(b=b, s=s, h=h, d=d, numel=b * s * h * d, dtype="fp16"), heads

        def add(b=b, s=s, h=h, d=d):
            x, y = act((b, h * d, s)).transpose(1, 2), act((b, s, h * d))
            return lambda: x + y

        yield "add_permuted", dict(b=b, s=s, h=h, d=d, numel=b * s * h * d, dtype="fp16"), add


def backward():
    """Gradients that PyTorch computes in kernels of their own."""
    for rows, width in ((512, 768), (4096, 768), (16384, 768), (4096, 4096), (32768, 1024)):

        def norm(rows=rows, width=width):
            x, g, w = act((rows, width)), act((rows, width)), act((width,))
            mean, rstd = act((rows, 1)).float(), act((rows, 1)).float()
            return lambda: torch.ops.aten.native_layer_norm_backward(g, x, [width], mean, rstd, w, w, [True] * 3)

        yield "layer_norm_backward", dict(rows=rows, width=width, dtype="fp16"), norm
    for n, c, hw, out, k, stride in (
        (32, 64, 56, 64, 3, 1),
        (32, 256, 56, 64, 1, 1),
        (32, 128, 28, 128, 3, 1),
        (32, 512, 28, 128, 1, 1),
        (32, 256, 14, 256, 3, 1),
        (32, 512, 7, 512, 3, 1),
        (32, 256, 56, 512, 1, 2),
        (8, 64, 56, 64, 3, 1),
    ):

        def conv(n=n, c=c, hw=hw, out=out, k=k, stride=stride):
            x, w, g = act((n, c, hw, hw)), weight((out, c, k, k)), act((n, out, hw // stride, hw // stride))
            sizes = ([stride] * 2, [k // 2] * 2, [1, 1], False, [0, 0], 1, [True, True, False])
            return lambda: torch.ops.aten.convolution_backward(g, x, w, None, *sizes)

        yield "conv_backward", dict(n=n, c=c, h=hw, out=out, k=k, stride=stride, dtype="fp16"), conv
    for b, h, s, d, causal in ((4, 12, 512, 64, 1), (8, 12, 512, 64, 0), (1, 32, 2048, 128, 1), (4, 16, 1024, 64, 1), (32, 12, 128, 64, 0)):

        def attend(b=b, h=h, s=s, d=d, causal=causal):
            q, k, v = (act((b, s, h, d)).transpose(1, 2).requires_grad_() for _ in range(3))
            with torch.enable_grad():
                y = F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
            g = torch.randn_like(y)
            return lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True)

        yield "sdpa_backward", dict(b=b, h=h, s=s, d=d, causal=causal, dtype="fp16"), attend
    for tensors, size in ((10, 1000), (150, 100_000), (150, 1_000_000), (60, 4_000_000)):

        def adam(tensors=tensors, size=size):
            weights = [torch.nn.Parameter(torch.zeros(size, device="cuda")) for _ in range(tensors)]
            for w in weights:
                w.grad = torch.ones_like(w)
            optimiser = torch.optim.AdamW(weights)
            return optimiser.step

        yield "adamw", dict(tensors=tensors, size=size, dtype="fp32"), adam


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=240.0)
    args = parser.parse_args()
    sweep([*depthwise(), *movement(), *backward(), *attention()], os.path.join(args.out, "more.json"), args.seconds, 64)


if __name__ == "__main__":
    main()
