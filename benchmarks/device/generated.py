"""Time kernels that torch.compile generates, attention with a mask tensor, and group norm.

    python3 benchmarks/device/generated.py --out DIR [--seconds 240] [--limit N]

Writes DIR/generated.json in the form of ops.py. A row of op "generated" gives the bytes that its function must read and
write, so that a fused kernel can be set against its traffic; rows and row length where it reduces along rows.
"""

import argparse
import os
import time

import torch
import torch.nn.functional as F
from ops import DEVICE, DTYPES, METHOD, act, profile, write

SIZE = {"fp16": 2, "bf16": 2, "fp32": 4}


def case(function, params, read, written, call):
    """One generated kernel; `call` is a function of no arguments, compiled here with static shapes."""
    params = {"function": function, **params, "read_bytes": read, "written_bytes": written}

    def prepare():
        torch._dynamo.reset()
        return torch.compile(call, dynamic=False)

    return "generated", params, prepare


def pointwise():
    for power in (12, 16, 20, 22, 24, 26, 27):
        n = 2**power
        x, y, z = (act((n,)) for _ in range(3))
        bytes_ = 2 * n
        yield case("relu", {"numel": n, "dtype": "fp16"}, bytes_, bytes_, lambda x=x: torch.relu(x))
        yield case("mul_add_relu", {"numel": n, "dtype": "fp16"}, 3 * bytes_, bytes_, lambda x=x, y=y, z=z: torch.relu(x * y + z))
        yield case("gelu_tanh", {"numel": n, "dtype": "fp16"}, bytes_, bytes_, lambda x=x: F.gelu(x, approximate="tanh"))
        yield case("silu_mul", {"numel": n, "dtype": "fp16"}, 2 * bytes_, bytes_, lambda x=x, y=y: F.silu(x) * y)


def affine():
    """Batch norm at inference and ReLU on NHWC, without and with a residual."""
    for n in (1, 32, 128):
        for c, h in ((64, 112), (256, 56), (512, 28), (1024, 14), (2048, 7)):
            x, y = act((n, c, h, h), nhwc=True), act((n, c, h, h), nhwc=True)
            s = [act((c,)) for _ in range(3)] + [act((c,)).abs() + 0.1]
            size = 2 * n * c * h * h
            params = {"n": n, "c": c, "h": h, "dtype": "fp16"}

            def norm(x, s=s):
                return F.batch_norm(x, s[2], s[3], s[0], s[1])

            yield case("bn_relu", params, size, size, lambda x=x, norm=norm: torch.relu(norm(x)))
            yield case("bn_add_relu", params, 2 * size, size, lambda x=x, y=y, norm=norm: torch.relu(norm(x) + y))
            rows = {**params, "rows": n * c, "over": "plane"}
            yield case("bn_relu_mean", rows, size, 2 * n * c, lambda x=x, norm=norm: torch.relu(norm(x)).mean((2, 3)))


def rows():
    shapes = [
        (1, 768),
        (128, 768),
        (512, 768),
        (4096, 768),
        (8192, 768),
        (16384, 768),
        (512, 4096),
        (4096, 4096),
        (2048, 1024),
        (16384, 8192),
    ]
    for r, c in shapes:
        x, y, w, b = act((r, c)), act((r, c)), act((c,)), act((c,))
        size, params = 2 * r * c, {"rows": r, "cols": c, "dtype": "fp16"}

        def add_norm(x=x, y=y, w=w, b=b, c=c):
            total = x + y
            return total, F.layer_norm(total, (c,), w, b)

        def rms(x=x, y=y, w=w):
            total = x + y
            wide = total.float()
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
            return total, w * wide.to(x.dtype)

        yield case("add_layer_norm", params, 2 * size, 2 * size, add_norm)
        yield case("add_rms_norm", params, 2 * size, 2 * size, rms)
        yield case("softmax", params, size, size, lambda x=x: torch.softmax(x, -1))


def masked():
    """Attention with the causal mask as a tensor, as transformers passes it when compiled."""
    shapes = [
        (1, 12, 512, 64),
        (4, 12, 512, 64),
        (16, 12, 512, 64),
        (4, 16, 1024, 64),
        (1, 32, 512, 128),
        (8, 32, 512, 128),
        (4, 32, 512, 64),
    ]
    for b, h, s, d in [*shapes, (1, 32, 2048, 128), (4, 32, 2048, 128), (2, 16, 2048, 64), (8, 16, 256, 64)]:
        params = {"b": b, "h": h, "hkv": h, "sq": s, "sk": s, "d": d, "causal": 1, "dtype": "fp16"}

        def prepare(b=b, h=h, s=s, d=d):
            q, k, v = (act((b, s, h, d)).transpose(1, 2) for _ in range(3))
            mask = torch.ones(s, s, dtype=torch.bool, device=DEVICE).tril().expand(b, 1, s, s)
            return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        yield "sdpa_masked", params, prepare


def group_norms():
    for n in (1, 2, 8):
        for c, h in ((320, 64), (320, 32), (640, 32), (640, 16), (1280, 16), (1280, 8), (128, 128), (512, 64)):
            params = {"n": n, "c": c, "h": h, "w": h, "groups": 32, "dtype": "fp16"}

            def prepare(n=n, c=c, h=h):
                x, w, b = act((n, c, h, h)), act((c,)), act((c,))
                return lambda: F.group_norm(x, 32, w, b)

            yield "group_norm", params, prepare


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    start, found = time.time(), []
    path = os.path.join(args.out, "generated.json")
    with torch.no_grad():
        for sweep in (masked, group_norms, pointwise, rows, affine):
            for op, params, prepare in list(sweep())[: args.limit]:
                if time.time() - start > args.seconds:
                    break
                result = profile([prepare], warmup=4)[0]
                found.append({"kind": "op", "op": op, "params": params, **result})
            write(path, METHOD + " Generated rows: torch.compile, static shapes; read_bytes and written_bytes are what must move.", found)
            print(f"{time.time() - start:6.1f} s {len(found)} rows, {sum('error' in r for r in found)} errors", flush=True)


if __name__ == "__main__":
    assert DTYPES
    main()
