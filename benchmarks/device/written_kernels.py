"""Small functions under torch.compile, one pattern of code each: what the kernels that Inductor writes for them take on a GPU.

    PYTHONPATH=src python3 benchmarks/device/written_kernels.py --out DIR [--budget 150]     on the machine with the GPU
    python benchmarks/device/written_kernels.py --judge [FILE]                               measured beside predicted, function by function

Writes DIR/written.json: a row of kind `function` per case, with its kernels by name. `cases()` builds inputs on the default device.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from queue import Empty

import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
METHOD = (
    "Functions of benchmarks/device/written_kernels.py under torch.compile, no_grad, random inputs, each called three times before. "
    "kernels, busy_s and list: number, summed durations and names of the GPU activities of one call from torch.profiler, medians of 5."
)
EVIDENCE = HERE.parents[1] / "src/ironlaw/registry/evidence/h200_sxm/written.json"
BF16, FP32 = torch.bfloat16, torch.float32


def randn(*shape, dtype=BF16):
    return torch.randn(*shape, dtype=dtype)


def joined():
    """Tensors put together."""
    wide, narrow = randn(262144, 256), randn(262144, 63)
    yield "cat_relu_odd", lambda a, b: torch.cat((a.relu(), b), -1), (wide, narrow)
    yield "cat_three", lambda a, b, c: torch.cat((a * 2, b + 1, c.relu()), -1), (randn(131072, 128), randn(131072, 128), randn(131072, 128))
    one, other, last = randn(64, 48, 1, 128), randn(64, 1, 48, 128), randn(64, 48, 48, 1)
    both = (64, 48, 48, 128)
    yield "cat_expanded_257", lambda a, b, c: torch.cat((a.expand(both), b.expand(both), c), -1) * 1.5, (one, other, last)
    yield "cat_expanded_256", lambda a, b: torch.cat((a.expand(both), b.expand(both)), -1) * 1.5, (one, other)
    for count in (8, 9, 12):
        parts = tuple(randn(65536, 32) for _ in range(count))
        yield f"cat_{count}", lambda *parts: torch.cat([p * 0.5 for p in parts], -1), parts
    yield "cat_channels", lambda a, b: torch.cat((a.relu(), b), 1), (randn(32, 64, 56, 56), randn(32, 64, 56, 56))
    x, angle = randn(8, 1024, 16, 64), randn(1024, 1, 32)
    pairs = lambda x, c, s: torch.stack((x[..., ::2] * c - x[..., 1::2] * s, x[..., ::2] * s + x[..., 1::2] * c), -1).flatten(-2)  # noqa: E731
    yield "rotary_pairs", pairs, (x, angle, angle)
    halves = lambda x, c, s: x * c + torch.cat((-x[..., 32:], x[..., :32]), -1) * s  # noqa: E731
    yield "rotary_halves", halves, (x, randn(1024, 1, 64), randn(1024, 1, 64))
    yield "pad_last", lambda a: F.pad(a * 2, (0, 1)), (randn(262144, 255),)
    fields = tuple(randn(1024, 1024) for _ in range(9))
    yield "stack_rolled_9", lambda *f: torch.stack([t.roll((i % 3 - 1, i // 3 - 1), (0, 1)) for i, t in enumerate(f)]), fields
    chain = randn(4096, 512, 6)
    yield "stacked_products", _stacked_products, (chain,)
    yield "outer_product", lambda a, b: a[:, None] * b[None, :], (randn(8192), randn(8192))


def _stacked_products(x):
    """Leaves of soft trees: the probability of each path."""
    found = torch.ones_like(x[..., :1])
    for level in range(6):
        p = x[..., level : level + 1].sigmoid()
        found = torch.cat((found * p, found * (1 - p)), -1)
    return found


def looked_up():
    """Reads through an index."""
    ids = torch.randint(50000, (32, 512))
    yield "embedding_add", lambda t, i, p: F.embedding(i, t) + p, (randn(50000, 512), ids, randn(512, 512))
    yield "embedding_fields", lambda t, i: F.embedding(i, t).sum(1), (randn(780000, 16), torch.randint(780000, (16384, 39)))
    yield "embedding_squares", lambda t, i: _machine(F.embedding(i, t)), (randn(780000, 16), torch.randint(780000, (16384, 39)))
    rows, weights = torch.randint(50000, (500000,)), randn(500000, 8, 1)
    yield "rows_scaled", lambda t, i, w: t[i] * w, (randn(50000, 8, 32), rows, weights)
    yield "gather_last", lambda x, i: x.gather(-1, i) * 2, (randn(65536, 256), torch.randint(256, (65536, 128)))
    scores = randn(8, 8, 512, 512)
    yield "bucket_bias", lambda s, t: s + _buckets(t, 512), (scores, randn(32, 8))
    yield "bucket_softmax", lambda s, t: (s * 0.125 + _buckets(t, 512)).softmax(-1), (scores, randn(32, 8))
    yield "take_picked", lambda x, i: x[torch.arange(x.shape[0], device=x.device), i], (randn(4096, 1024), torch.randint(1024, (4096,)))


def _machine(v):
    """Second-order terms of a factorisation machine."""
    return 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(-1)


def _buckets(table, size):
    """A bias by distance, from a small table."""
    place = torch.arange(size, device=table.device)
    far = (place[None, :] - place[:, None]).clamp(-15, 16) + 15
    return F.embedding(far, table).permute(2, 0, 1)


def rows_of():
    """Along a row."""
    for width in (64, 256, 300, 512, 1024, 4096):
        x = randn(2**24 // width, width)
        yield f"softmax_{width}", lambda x: x.softmax(-1), (x,)
        yield (
            f"rms_norm_{width}",
            lambda x, w: x * (x.float().square().mean(-1, keepdim=True) + 1e-6).rsqrt().to(x.dtype) * w,
            (x, randn(width)),
        )
        yield f"layer_norm_add_{width}", lambda x, y, w: F.layer_norm(x + y, w.shape, w), (x, x.clone(), randn(width))
        yield f"sum_{width}", lambda x: (x * x).sum(-1), (x,)
    mask = torch.ones(512, 512, dtype=torch.bool).tril()
    yield "masked_softmax", lambda s, m: (s * 0.125).masked_fill(~m, float("-inf")).softmax(-1), (randn(8, 8, 512, 512), mask)
    yield "attentive_statistics", _statistics, (randn(128, 1536, 300), randn(128, 1536, 300))
    yield "softmax_middle", lambda x: x.softmax(1), (randn(64, 1024, 256),)
    yield (
        "log_softmax_picked",
        lambda x, i: -x.log_softmax(-1).gather(1, i[:, None]).mean(),
        (randn(8192, 32000), torch.randint(32000, (8192,))),
    )
    yield "normalised", lambda x: F.normalize(x, dim=-1), (randn(65536, 256),)
    yield "argmax", lambda x: x.argmax(-1), (randn(16384, 1024),)
    yield "cumsum", lambda x: x.cumsum(-1), (randn(16384, 1024),)
    yield "logsumexp", lambda x: x.logsumexp(-1), (randn(65536, 256),)


def _statistics(scores, x):
    weights = scores.softmax(-1)
    mean = (weights * x).sum(-1)
    return torch.cat((mean, ((weights * x.square()).sum(-1) - mean.square()).clamp(min=1e-6).sqrt()), -1)


def summed():
    """Sums over other axes."""
    yield "sum_first", lambda x: x.relu().sum(0), (randn(65536, 256),)
    yield "sum_middle", lambda x: x.relu().sum(1), (randn(256, 256, 256),)
    yield "sum_of_nine", lambda x: x.sum(0), (randn(9, 1024, 1024),)
    yield "messages_summed", lambda x: F.silu(x).sum(2), (randn(64, 48, 48, 128),)
    yield "mean_image", lambda x: x.relu().mean((2, 3)), (randn(64, 256, 28, 28),)
    yield "mean_image_last", lambda x: x.relu().mean((2, 3)), (randn(64, 256, 28, 28).contiguous(memory_format=torch.channels_last),)
    yield "mean_all", lambda x, y: (x - y).square().mean(), (randn(4096, 4096), randn(4096, 4096))
    yield "pairs_nearest", _nearest, (randn(16, 2048, 3), randn(16, 2048, 3))
    yield "standardised", lambda x: (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5), (randn(512, 1024, 32),)
    yield "max_first", lambda x: x.amax(1), (randn(64, 1024, 256),)
    yield "group_norm_silu", lambda x, w: F.silu(F.group_norm(x, 8, w, w)), (randn(16, 128, 64, 64), randn(128))
    yield "instance_norm", lambda x: F.instance_norm(x).relu(), (randn(16, 64, 128, 128),)
    yield "dot_rows", lambda x, y: (x * y).sum(-1, keepdim=True) * y, (randn(65536, 256), randn(65536, 256))


def _nearest(a, b):
    far = (a[:, :, None] - b[:, None]).square().sum(-1)
    return far.amin(1).mean() + far.amin(2).mean()


def pointwise():
    """Element by element."""
    for dtype in (BF16, FP32):
        x, name = randn(2**25, dtype=dtype), {BF16: "bf16", FP32: "fp32"}[dtype]
        for function in (F.gelu, F.silu, torch.tanh, torch.exp, torch.sin, torch.sqrt, F.mish, F.softplus):
            yield f"{function.__name__}_{name}", lambda x, f=function: f(x), (x,)
        yield f"power_{name}", lambda x: x.abs() ** 1.7, (x,)
        yield f"divided_{name}", lambda x, y: x / y, (x, x.clone())
        yield f"chain_{name}", lambda x: ((x * 1.1 + 0.2) * x - 0.3).clamp(-1, 1) * x, (x,)
    yield "where", lambda a, b: torch.where(a > b, a * 2, b - 1), (randn(2**24), randn(2**24))
    yield "gates", _gates, (randn(16384, 4096), randn(16384, 1024))
    yield "gated", lambda x: F.silu(x[..., :2048]) * x[..., 2048:], (randn(16384, 4096),)
    yield "unpacked_int4", _unpacked, (torch.randint(0, 255, (8192, 2048), dtype=torch.uint8), randn(8192, 64, 1))
    yield "fourier_features", _features, (randn(262144, 3),)
    yield "dequantised", lambda w, s: w.to(BF16) * s, (torch.randint(-127, 127, (8192, 8192), dtype=torch.int8), randn(8192, 1))
    yield "transposed_add", lambda a, b: a.T + b, (randn(8192, 4096), randn(4096, 8192))
    yield "heads_apart", lambda x: x.view(8, 1024, 16, 64).transpose(1, 2).contiguous(), (randn(8, 1024, 1024),)
    yield "channels_to_last", lambda x: x.relu().permute(0, 2, 3, 1).contiguous(), (randn(32, 64, 112, 112),)
    yield "nearest_doubled", lambda x: F.interpolate(x, scale_factor=2), (randn(16, 64, 64, 64),)
    yield "bilinear_doubled", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (randn(16, 64, 64, 64),)
    yield "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2).relu(), (randn(8, 256, 128, 128),)
    yield "grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), (randn(16, 32, 128, 128), randn(16, 128, 128, 2))
    yield "max_pool", lambda x: F.max_pool2d(x.relu(), 3, 2, 1), (randn(32, 64, 112, 112),)
    yield "avg_pool", lambda x: F.avg_pool2d(x, 2), (randn(32, 64, 112, 112),)
    yield "rolled", lambda x: x.roll((3, 3), (1, 2)) * 2, (randn(64, 56, 56, 128),)
    yield "windows", lambda x: x.view(64, 8, 7, 8, 7, 128).transpose(2, 3).reshape(-1, 49, 128) + 1, (randn(64, 56, 56, 128),)
    yield "distances_decayed", _decayed, (randn(8, 8, 256, 256), randn(8).abs())


def _gates(x, c):
    i, f, g, o = x.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _unpacked(packed, scale):
    """Two weights of four bits in a byte, a scale for each group."""
    both = torch.stack((packed & 15, packed >> 4), -1).flatten(-2)
    return ((both.view(8192, 64, 64).to(BF16) - 8) * scale).view(8192, 4096)


def _features(x):
    angles = x[..., None] * 2.0 ** torch.arange(10, device=x.device)
    return torch.cat((x, angles.sin().flatten(-2), angles.cos().flatten(-2)), -1)


def _decayed(scores, rate):
    place = torch.arange(256, device=scores.device)
    far = (place[:, None] - place[None, :]).clamp(min=0)
    return scores * torch.where(place[:, None] >= place[None, :], rate[:, None, None] ** far, 0.0)


def left_out():
    """Products of odd sizes, and what Inductor calls ATen for."""
    for m, k, n in (
        (147456, 257, 128),
        (262144, 63, 256),
        (32768, 90, 384),
        (262144, 128, 3),
        (4096, 54, 3072),
        (8192, 1000, 1000),
        (65536, 33, 65),
    ):
        yield f"linear_{k}_{n}", lambda x, w, b: F.linear(x.relu(), w, b), (randn(m, k), randn(n, k), randn(n))
    yield "few_by_many", lambda w, x: torch.einsum("ij,jhw->ihw", w, x), (randn(9, 2), randn(2, 1024, 1024))
    yield (
        "int8_linear",
        lambda x, w, s: (x @ w.to(BF16).T) * s,
        (randn(8, 2048), torch.randint(-127, 127, (8192, 2048), dtype=torch.int8), randn(8192)),
    )
    for dtype in (BF16, FP32):
        name = {BF16: "bf16", FP32: "fp32"}[dtype]
        i, v = torch.randint(50000, (500000,)), randn(500000, 64, dtype=dtype)
        yield f"index_add_{name}", lambda v, i: torch.zeros(50000, 64, dtype=v.dtype, device=v.device).index_add(0, i, v * 2), (v, i)
        yield f"scatter_max_{name}", _scattered, (v[:, :8].contiguous(), i)
        yield f"topk_{name}", lambda x: (x * 2).topk(16, -1), (randn(4096, 2048, dtype=dtype),)
        yield f"sorted_{name}", lambda x: (x * 2).sort(-1), (randn(4096, 1024, dtype=dtype),)
    yield "spectrum_product", _spectral, (randn(16, 48, 128, 128, dtype=FP32), torch.randn(48, 48, 16, 16, dtype=torch.complex64))
    layer = torch.nn.TransformerEncoderLayer(256, 8, 512, batch_first=True, activation="gelu", dtype=BF16).eval()
    yield "encoder_layer", layer, (randn(128, 64, 256),)


def _scattered(v, i):
    where = i[:, None].expand_as(v)
    return torch.full((50000, v.shape[1]), -1e4, dtype=v.dtype, device=v.device).scatter_reduce(0, where, v, "amax")


def _spectral(x, w):
    f = torch.fft.rfft2(x)
    out = torch.zeros_like(f)
    out[:, :, :16, :16] = torch.einsum("bixy,ioxy->boxy", f[:, :, :16, :16], w)
    return torch.fft.irfft2(out, s=x.shape[-2:])


def cases():
    for part in (joined, looked_up, rows_of, summed, pointwise, left_out):
        yield from part()


def work(number, count, device, only, until, everybody, lock, queue):
    """Compile every so many-th function while the others compile theirs, then profile them, alone on the GPU."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    from gpu import GPU

    from ironlaw.measure.devices.kernel_times import profile

    torch.set_default_device(device)
    ready = []
    for index, (name, function, inputs) in enumerate(cases()):
        if index % count == number and name.startswith(only):
            params = {"dtype": "fp32" if FP32 in {x.dtype for x in inputs} else "bf16"}
            ready.append(({"kind": "function", "name": name, "params": params, "mode": "compiled"}, compiled(function, inputs, until)))
    everybody.wait(max(1.0, until - time.time()) + 30)
    for row, call in ready:
        if callable(call):
            with lock:
                (seen,) = profile(GPU, [lambda call=call: call], warmup=2, iterations=5, keep=40)
            row |= {key: seen[key] for key in ("kernels", "busy_s", "list", "error") if key in seen}
        else:
            row["error"] = call
        queue.put(row)
    queue.put(None)


def compiled(function, inputs, until):
    """The compiled call after three runs, or why there is none."""
    if time.time() > until:
        return "no time left to compile"
    try:
        torch._dynamo.config.recompile_limit = 64  # one function at several sizes
        run = torch.compile(function, dynamic=False)

        def call():
            with torch.no_grad():
                run(*inputs)

        for _ in range(3):
            call()
        return call
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"


def judge(file):
    """What is predicted for each function, beside what was measured."""
    import ironlaw as il

    seen = {row["name"]: row for row in json.loads(Path(file).read_text())["rows"]}
    machine = il.hardware("h200_sxm")
    torch.set_default_device("meta")
    for name, function, inputs in cases():
        row = seen.get(name, {"error": "not measured"})
        if "error" in row:
            print(f"{name:22} {row['error'][:80]}")
            continue
        told = il.predict(il.capture(function, inputs), machine, il.Plan(mode="compiled"))
        kernels = " ".join(f"{k['name'][:34]}×{k['count']:.0f}:{k['seconds'] * 1e6:.0f}" for k in row["list"][:4])
        parts = " ".join(
            f"{op.origin[:34]}×{op.kernels:.0f}:{op.seconds * 1e6:.0f}" for op in sorted(told.ops, key=lambda op: -op.seconds)[:3]
        )
        error = told.busy_s / row["busy_s"] - 1.0
        print(f"{name:22}{row['busy_s'] * 1e6:8.1f} µs {error:+5.0%}  {told.kernels:3.0f} of {row['kernels']:3.0f} | {kernels} || {parts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--budget", type=float, default=150.0)
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--only", default="", help="functions whose names begin so")
    parser.add_argument("--judge", nargs="?", const=EVIDENCE)
    args = parser.parse_args()
    if args.judge:
        return judge(args.judge)
    context = multiprocessing.get_context("spawn")
    device, queue, begun = "cuda" if torch.cuda.is_available() else "cpu", context.Queue(), time.time()
    shared = begun + args.budget / 2, context.Barrier(args.processes), context.Lock(), queue
    workers = [
        context.Process(target=work, args=(i, args.processes, device, args.only, *shared), daemon=True) for i in range(args.processes)
    ]
    for worker in workers:
        worker.start()
    rows, done = [], 0
    while done < len(workers) and time.time() < begun + args.budget:
        try:
            row = queue.get(timeout=5)
        except Empty:
            continue
        done += row is None
        rows += [row] if row else []
    from gpu import write

    write(f"{args.out}/written.json", METHOD, rows)
    print(f"{len(rows)} functions, {sum('error' in row for row in rows)} failed, {time.time() - begun:.0f} s")
    for row in rows:
        if "error" in row:
            print(row["name"], row["error"])


if __name__ == "__main__":
    main()
