"""Time norms of narrow rows, batch norm in training, grouped convolutions, pooling, column sums and a few gradients.

    python3 benchmarks/device/norms.py --out DIR [--seconds 120]

Writes DIR/norms.json in the form of ops.py. Needs torch, and ops.py beside it.
"""

import argparse
import os

import torch
import torch.nn.functional as F
from ops import act, sweep, weight

ROWS = [(65536, 32), (262144, 32), (16384, 64), (131072, 64), (3136, 96), (100352, 96), (25088, 128), (4096, 128), (4096, 160), (784, 192),
        (25088, 192), (6272, 256), (4096, 256), (32768, 320), (6272, 384), (12000, 384), (1568, 512), (25088, 512)]  # fmt: skip
IMAGES = [(32, 64, 112), (32, 64, 56), (32, 256, 56), (32, 128, 28), (32, 512, 28), (32, 256, 14), (32, 1024, 14), (32, 512, 7),
          (32, 2048, 7), (8, 64, 56), (8, 512, 14), (128, 256, 56)]  # fmt: skip
GROUPED = [(16, 512, 14, 8, 1), (16, 192, 28, 3, 1), (16, 128, 56, 2, 1), (16, 128, 112, 2, 2), (16, 1088, 7, 17, 1), (16, 192, 56, 3, 2),
           (1, 512, 14, 8, 1), (1, 128, 56, 2, 1),
           (32, 128, 56, 32, 1), (32, 256, 28, 32, 1), (32, 1024, 7, 32, 1), (64, 512, 14, 8, 1)]  # fmt: skip


def norms():
    for rows, cols in ROWS:

        def layer(rows=rows, cols=cols):
            x, w = act((rows, cols)), act((cols,))
            return lambda: F.layer_norm(x, (cols,), w, w)

        yield "layer_norm", dict(rows=rows, cols=cols, dtype="fp16"), layer
    for n, c, hw, groups in (
        (8, 64, 56, 1),
        (8, 128, 28, 1),
        (8, 320, 14, 1),
        (8, 512, 7, 1),
        (32, 64, 56, 1),
        (1, 64, 56, 1),
        (8, 64, 56, 8),
    ):

        def group(n=n, c=c, hw=hw, groups=groups):
            x, w = act((n, c, hw, hw)), act((c,))
            return lambda: F.group_norm(x, groups, w, w)

        yield "group_norm", dict(n=n, c=c, h=hw, w=hw, groups=groups, dtype="fp16"), group
    for n, c, hw in IMAGES:

        def batch(n=n, c=c, hw=hw):
            x, w, mean, var = act((n, c, hw, hw)), act((c,)), act((c,)), act((c,)).abs()
            return lambda: F.batch_norm(x, mean, var, w, w, training=True)

        yield "batch_norm_train", dict(n=n, c=c, h=hw, w=hw, dtype="fp16"), batch

        def back(n=n, c=c, hw=hw):
            x, g, w = act((n, c, hw, hw)), act((n, c, hw, hw)), act((c,))
            mean, rstd = act((c,)).float(), act((c,)).float().abs()
            return lambda: torch.ops.aten.native_batch_norm_backward(g, x, w, w, w, mean, rstd, True, 1e-5, [True] * 3)

        yield "batch_norm_backward", dict(n=n, c=c, h=hw, w=hw, dtype="fp16"), back


def convolutions():
    for n, c, hw, groups, stride in GROUPED:

        def conv(n=n, c=c, hw=hw, groups=groups, stride=stride):
            x, w = act((n, c, hw, hw)), weight((c, c // groups, 3, 3))
            return lambda: F.conv2d(x, w, stride=stride, padding=1, groups=groups)

        params = dict(n=n, c=c, h=hw, w=hw, out=c, kh=3, kw=3, stride=stride, ph=1, pw=1, groups=groups, dilation=1, bias=0)
        yield "conv2d", params | dict(layout="nchw", dtype="fp16"), conv
    for n, c, hw in ((8, 64, 56), (8, 128, 28), (8, 320, 14), (8, 512, 7), (32, 64, 56), (32, 256, 56)):

        def pool(n=n, c=c, hw=hw):
            x = act((n, c, hw, hw))
            return lambda: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)

        yield "avg_pool2d", dict(n=n, c=c, h=hw, w=hw, k=3, stride=1, pad=1, dtype="fp16"), pool
    for n, c, hw in ((32, 64, 112), (8, 64, 112), (32, 64, 56)):

        def unpool(n=n, c=c, hw=hw):
            x = act((n, c, hw, hw))
            y, where = F.max_pool2d(x, 3, 2, 1, return_indices=True)
            return lambda: torch.ops.aten.max_pool2d_with_indices_backward(y, x, [3, 3], [2, 2], [1, 1], [1, 1], False, where)

        yield "max_pool2d_backward", dict(n=n, c=c, h=hw, w=hw, k=3, stride=2, pad=1, dtype="fp16"), unpool


def gradients():
    for rows, cols in ((2048, 768), (3152, 768), (2048, 3072), (3152, 3072), (16384, 1024), (2048, 30522), (512, 768), (8192, 4096)):

        def columns(rows=rows, cols=cols):
            x = act((rows, cols))
            return lambda: x.sum(0, keepdim=True)

        yield "sum_columns", dict(rows=rows, cols=cols, dtype="fp16"), columns
    for rows, cols in ((2048, 3072), (3152, 3072), (512, 3072), (16384, 4096)):

        def gelu(rows=rows, cols=cols):
            x, g = act((rows, cols)), act((rows, cols))
            return lambda: torch.ops.aten.gelu_backward(g, x)

        yield "gelu_backward", dict(numel=rows * cols, dtype="fp16"), gelu
    for vocabulary, width, tokens in ((30522, 768, 2048), (512, 768, 128), (50257, 768, 2048), (2, 768, 128), (32000, 1024, 2048)):

        def lookup(vocabulary=vocabulary, width=width, tokens=tokens):
            g, ids = act((tokens, width)), torch.randint(0, vocabulary, (tokens,), device="cuda")
            return lambda: torch.ops.aten.embedding_dense_backward(g, ids, vocabulary, -1, False)

        yield "embedding_backward", dict(vocab=vocabulary, dim=width, tokens=tokens, dtype="fp16"), lookup
    for b, h, s, d in ((4, 12, 256, 64), (8, 8, 512, 64), (2, 16, 1024, 64), (32, 12, 128, 64), (1, 12, 2048, 64)):

        def maths(b=b, h=h, s=s, d=d):
            q, k, v = (act((b, s, h, d)).transpose(1, 2) for _ in range(3))
            mask = act((b, s, s, h)).permute(0, 3, 1, 2)  # its last axis is not contiguous: no fused kernel takes it
            return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        yield "sdpa_math", dict(b=b, h=h, hkv=h, sq=s, sk=s, d=d, causal=0, dtype="fp16"), maths
    for b, h, s, d, whole in ((2048, 3, 49, 32, 1), (128, 12, 49, 32, 1), (512, 6, 49, 32, 0), (8, 12, 256, 64, 1), (4, 12, 512, 64, 1)):

        def biased(b=b, h=h, s=s, d=d, whole=whole):
            q, k, v = (act((b, s, h, d)).transpose(1, 2) for _ in range(3))
            mask = act((b if whole else 1, h, s, s)).expand(b, h, s, s)
            return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        yield "sdpa", dict(b=b, h=h, hkv=h, sq=s, sk=s, d=d, causal=0, mask=1, heads=h, whole=whole, dtype="fp16"), biased


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=120.0)
    args = parser.parse_args()
    sweep([*norms(), *convolutions(), *gradients()], os.path.join(args.out, "norms.json"), args.seconds, 32)


if __name__ == "__main__":
    main()
