"""Time single PyTorch operators on one GPU and write the result as evidence.

    python3 benchmarks/device/ops.py --out DIR [--seconds 330] [--limit N]

Writes DIR/ops.json. A row of kind "op" holds the GPU kernel time of one call
of an operator at one shape; a row of kind "launch" holds what one call costs
the host. Needs only torch. Without a GPU the sweep runs (to try the script)
but finds no kernels.
"""

import argparse
import functools
import itertools
import json
import os
import platform
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "tf32": torch.float32,
}
WARMUP = 3
ITERATIONS = 8
MARKER = "spin_kernel"  # what torch.cuda._sleep launches
METHOD = (
    "GPU kernel, memset and memcpy durations from torch.profiler (CUDA "
    f"activity only), {WARMUP} warm-up and {ITERATIONS} measured calls per "
    "row on one stream, a marker kernel before every call; busy_s is the "
    "median over calls of the sum of durations. Weights of linear and conv "
    "come from a pool of 1 GiB or more walked end to end, so they are cold in "
    "L2; activations stay where they are. Random normal data. Launch rows: "
    "wall_s is the host clock over 200 calls queued back to back, graph_s "
    "the GPU time of a CUDA graph of 200 calls, both per call, medians, taken "
    "before the profiler was first started; wall_after_profiler_s is wall_s "
    "again at the end, when the profiler's hooks may remain."
)


# ---------------------------------------------------------------- evidence


@functools.lru_cache
def machine():
    """Describe the machine without naming the host."""
    info = {"hardware": "h200_sxm", "gpu": None, "sms": None, "l2_bytes": None}
    if DEVICE == "cuda":
        props = torch.cuda.get_device_properties(0)
        info["gpu"] = props.name
        info["sms"] = props.multi_processor_count
        info["l2_bytes"] = props.L2_cache_size
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            info["driver"] = subprocess.check_output(query, text=True).split()[0]
        except (OSError, subprocess.CalledProcessError, IndexError):
            info["driver"] = None
    info["cpu"] = platform.machine()
    try:
        with open("/proc/cpuinfo") as handle:
            for line in handle:
                if line.startswith("model name"):
                    info["cpu"] = line.split(":", 1)[1].strip()
                    break
    except OSError:
        pass
    return info


@functools.lru_cache
def software():
    """Versions of what ran."""
    found = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
    }
    try:
        from importlib.metadata import version

        found["transformers"] = version("transformers")
    except ImportError:
        found["transformers"] = None
    return found


def write(path, method, rows, date="2026-11-15"):
    """Write an evidence file, one row per line, replacing it in one step."""
    head = {
        "format": "ironlaw-evidence/1",
        "machine": machine(),
        "software": software(),
        "date": date,
        "method": method,
    }
    text = json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n'
    text += ",\n".join(json.dumps(row) for row in rows) + "\n]}\n"
    with open(path + ".part", "w") as handle:
        handle.write(text)
    os.replace(path + ".part", path)


# --------------------------------------------------------------- profiling


def sync():
    """Wait for the GPU, where there is one."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def mark():
    """Launch the kernel that marks the start of a call."""
    if DEVICE == "cuda":
        torch.cuda._sleep(1)


def gpu_events(prof):
    """(name, seconds) of the GPU's activities in the order they started."""
    cuda = torch.autograd.DeviceType.CUDA
    found = [
        (event.start_ns(), event.name(), event.duration_ns() * 1e-9)
        for event in prof.profiler.kineto_results.events()
        if event.device_type() == cuda
    ]
    return [(name, seconds) for _, name, seconds in sorted(found)]


def summarise(calls, keep=None):
    """Kernel count, busy time and per-kernel list from several calls."""
    names = {}
    for index, call in enumerate(calls):
        for name, seconds in call:
            per_call = names.setdefault(name, [[] for _ in calls])
            per_call[index].append(seconds)
    listed = [
        {
            "name": name[:80],
            "count": round(sum(map(len, per_call)) / len(calls), 3),
            "seconds": round(statistics.median(map(sum, per_call)), 10),
        }
        for name, per_call in names.items()
    ]
    listed.sort(key=lambda item: -item["seconds"])
    return {
        "kernels": statistics.median_low([len(call) for call in calls]),
        "busy_s": round(statistics.median(sum(s for _, s in call) for call in calls), 10),
        "list": listed[:keep],
    }


def profile(cases, warmup=WARMUP, iterations=ITERATIONS, keep=None):
    """Profile cases in one profiler session.

    A case is a function that prepares inputs and returns the call to time.
    Gives one dict per case: summarise()'s result, or {"error": ...}.
    """
    owners, errors = [], {}
    activity = torch.profiler.ProfilerActivity
    kind = activity.CUDA if DEVICE == "cuda" else activity.CPU
    with torch.profiler.profile(activities=[kind]) as prof:
        for index, prepare in enumerate(cases):
            try:
                call = prepare()
                for iteration in range(warmup + iterations):
                    if iteration in (warmup, 0):
                        sync()
                    owners.append((index, iteration))
                    mark()
                    call()
                mark()
                owners.append((None, 0))
                sync()
            except Exception as error:
                errors[index] = f"{type(error).__name__}: {str(error)[:200]}"
                mark()
                owners.append((None, 0))
            call = None
    calls = []
    for name, seconds in gpu_events(prof) if DEVICE == "cuda" else []:
        if MARKER in name:
            calls.append([])
        elif calls:
            calls[-1].append((name, seconds))
    if DEVICE == "cuda" and len(calls) != len(owners):
        message = f"{len(calls)} markers seen of {len(owners)}"
        return [{"error": message} for _ in cases]
    if not calls:
        calls = [[] for _ in owners]
    kept = [[] for _ in cases]
    for (index, iteration), call in zip(owners, calls):
        if index is not None and iteration >= warmup:
            kept[index].append(call)
    return [{"error": errors[index]} if index in errors else summarise(group, keep) for index, group in enumerate(kept)]


# ------------------------------------------------------------------- inputs


class Pool:
    """Random tensors cut from one big buffer per dtype."""

    def __init__(self, elements):
        self.elements = elements if DEVICE == "cuda" else 2**20
        self.buffers = {}
        self.offsets = {}

    def buffer(self, dtype):
        if dtype not in self.buffers:
            made = torch.empty(self.elements, dtype=dtype, device=DEVICE)
            self.buffers[dtype] = made.normal_(0, 0.5)
            self.offsets[dtype] = 0
        return self.buffers[dtype]

    def reset(self):
        for dtype in self.offsets:
            self.offsets[dtype] = 0

    def take(self, shape, dtype, wrap=False, nhwc=False):
        """A tensor of this shape; wrap starts over at the buffer's end."""
        numel = 1
        for size in shape:
            numel *= size
        buffer = self.buffer(dtype)
        offset = self.offsets[dtype]
        if wrap and offset + numel > buffer.numel():
            offset = 0
        if offset + numel > buffer.numel():
            made = torch.empty(numel, dtype=dtype, device=DEVICE).normal_(0, 0.5)
        else:
            made = buffer[offset : offset + numel]
            self.offsets[dtype] = offset + -(-numel // 256) * 256
        if nhwc:
            n, c, h, w = shape
            return made.view(n, h, w, c).permute(0, 3, 1, 2)
        return made.view(shape)


ACTIVATIONS = Pool(2**29)
WEIGHTS = Pool(2**29)


def act(shape, dtype="fp16", nhwc=False):
    """An activation."""
    return ACTIVATIONS.take(shape, DTYPES[dtype], nhwc=nhwc)


def weight(shape, dtype="fp16", nhwc=False):
    """The next cold weight."""
    return WEIGHTS.take(shape, DTYPES[dtype], wrap=True, nhwc=nhwc)


def ids(count, high):
    """Random integers below high."""
    return torch.randint(high, (count,), device=DEVICE)


# ------------------------------------------------------------------- sweeps
# Each sweep yields (op, params, prepare).


def conv_case(n, shape, layout, dtype="fp16", bias=False):
    """One convolution; shape is (c, h, w, out, kh, kw, stride, ph, pw, groups)."""
    c, h, w, out, kh, kw, stride, ph, pw, groups = shape
    params = dict(n=n, c=c, h=h, w=w, out=out, kh=kh, kw=kw, stride=stride)
    params.update(ph=ph, pw=pw, groups=groups, dilation=1, bias=int(bias))
    params.update(layout=layout, dtype=dtype)

    def prepare():
        torch.backends.cudnn.allow_tf32 = dtype == "tf32"
        nhwc = layout == "nhwc"
        x = act((n, c, h, w), dtype, nhwc)
        b = act((out,), dtype) if bias else None
        size = (out, c // groups, kh, kw)
        return lambda: F.conv2d(x, weight(size, dtype, nhwc), b, stride, (ph, pw), 1, groups)

    return "conv2d", params, prepare


RESNET = [
    (3, 224, 64, 7, 2, 3), (64, 56, 64, 1, 1, 0), (64, 56, 64, 3, 1, 1),
    (64, 56, 256, 1, 1, 0), (256, 56, 64, 1, 1, 0), (256, 56, 128, 1, 1, 0),
    (128, 56, 128, 3, 2, 1), (256, 56, 512, 1, 2, 0), (128, 28, 128, 3, 1, 1),
    (128, 28, 512, 1, 1, 0), (512, 28, 128, 1, 1, 0), (512, 28, 256, 1, 1, 0),
    (256, 28, 256, 3, 2, 1), (512, 28, 1024, 1, 2, 0), (256, 14, 256, 3, 1, 1),
    (256, 14, 1024, 1, 1, 0), (1024, 14, 256, 1, 1, 0),
    (1024, 14, 512, 1, 1, 0), (512, 14, 512, 3, 2, 1),
    (1024, 14, 2048, 1, 2, 0), (512, 7, 512, 3, 1, 1), (512, 7, 2048, 1, 1, 0),
    (2048, 7, 512, 1, 1, 0),
]  # fmt: skip
RESNET_FP32 = [0, 1, 2, 3, 4, 6, 8, 14, 15, 20]
VGG = [(64, 224, 64, 3, 1, 1), (128, 112, 128, 3, 1, 1), (512, 28, 512, 3, 1, 1)]
UNET = [
    (4, 64, 320, 3, 1, 1), (320, 64, 320, 3, 1, 1), (640, 32, 640, 3, 1, 1),
    (1280, 16, 1280, 3, 1, 1), (320, 64, 640, 1, 1, 0),
]  # fmt: skip
DEPTHWISE = [
    (32, 112, 1), (96, 112, 2), (144, 56, 1), (144, 56, 2), (192, 28, 1),
    (192, 28, 2), (384, 14, 1), (576, 14, 1), (576, 14, 2), (960, 7, 1),
]  # fmt: skip
DEPTHWISE_PADDED = [(32, 112, 1), (144, 56, 2), (576, 14, 1)]
DEPTHWISE_7 = [(96, 56), (192, 28), (384, 14), (768, 7)]
POINTWISE_CONV = [
    (32, 112, 16), (16, 112, 96), (96, 56, 24), (24, 56, 144), (144, 28, 32),
    (32, 28, 192), (192, 14, 64), (64, 14, 384), (384, 14, 96), (96, 14, 576),
    (576, 7, 160), (160, 7, 960), (960, 7, 320), (320, 7, 1280),
]  # fmt: skip


def square(c, h, out, k, stride, pad, groups=1):
    """A square convolution's shape for conv_case."""
    return c, h, h, out, k, k, stride, pad, pad, groups


def convs():
    """Two-dimensional convolutions in both layouts."""
    batches, layouts = (1, 8, 32, 128), ("nchw", "nhwc")
    shapes = [square(*s) for s in RESNET]
    shapes += [square(c, h, c, 3, s, 1, c) for c, h, s in DEPTHWISE]
    shapes += [square(c, h, o, 1, 1, 0) for c, h, o in POINTWISE_CONV]
    for layout, shape, n in itertools.product(layouts, shapes, batches):
        yield conv_case(n, shape, layout)
    for layout, n in itertools.product(layouts, batches):
        yield conv_case(n, square(3, 224, 768, 16, 16, 0), layout, bias=True)
    shapes = [square(c, h, c, 7, 1, 3, c) for c, h in DEPTHWISE_7]
    shapes += [square(c, h + 2, c, 3, s, 0, c) for c, h, s in DEPTHWISE_PADDED]
    shapes += [square(*s) for s in VGG] + [square(256, 14, 256, 3, 1, 1, 32)]
    for layout, shape, n in itertools.product(layouts, shapes, batches):
        yield conv_case(n, shape, layout)
    for layout, shape, n in itertools.product(layouts, UNET, (1, 2, 8)):
        yield conv_case(n, square(*shape), layout)
    speech = [
        (1, 49, 10, 64, 10, 4, 2, 5, 1, 1),
        (64, 25, 5, 64, 3, 3, 1, 1, 1, 64),
        (64, 25, 5, 64, 1, 1, 1, 0, 0, 1),
    ]
    for layout, shape, n in itertools.product(layouts, speech, (1, 32, 1024)):
        yield conv_case(n, shape, layout)
    for dtype, index, n in itertools.product(("fp32", "tf32"), RESNET_FP32, (1, 32)):
        yield conv_case(n, square(*RESNET[index]), "nchw", dtype)


ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 197, 256, 512, 1024, 2048, 4096, 6304)
ROWS += (8192, 16384)
LINEAR = [
    (768, 768), (3072, 768), (768, 3072), (2304, 768), (1024, 1024),
    (4096, 1024), (1024, 4096), (4096, 4096), (14336, 4096), (4096, 14336),
    (1000, 2048), (12, 64), (2, 768), (30522, 768), (50257, 768), (50304, 768),
    (32000, 2048), (512, 512), (256, 256), (8192, 8192), (28672, 8192),
]  # fmt: skip
LINEAR_BF16 = [
    (1024, 4096), (4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096),
    (2048, 2048), (8192, 2048), (512, 2048),
]  # fmt: skip
BMM = [
    (197, 197, 64), (197, 64, 197), (512, 512, 64), (512, 64, 512),
    (128, 128, 64), (1, 512, 128),
]  # fmt: skip


def linear_case(m, n, k, bias, dtype):
    """x[m, k] times a cold weight[n, k]."""

    def prepare():
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        x = act((m, k), dtype)
        b = act((n,), dtype) if bias else None
        return lambda: F.linear(x, weight((n, k), dtype), b)

    return "linear", dict(m=m, n=n, k=k, bias=int(bias), dtype=dtype), prepare


def linears():
    """Matrix products with a weight."""
    for (n, k), m in itertools.product(LINEAR, ROWS):
        if m * n * 2 <= 4e9:
            yield linear_case(m, n, k, True, "fp16")
    for (n, k), m in itertools.product(LINEAR_BF16, ROWS):
        if m * n * 2 <= 4e9:
            yield linear_case(m, n, k, False, "bf16")
    shapes = [(768, 768), (3072, 768), (4096, 4096)]
    for dtype, (n, k), m in itertools.product(("fp32", "tf32"), shapes, (1, 64, 512, 4096)):
        yield linear_case(m, n, k, True, dtype)


def bmms():
    """Batched matrix products of two activations."""
    for dtype, (m, n, k), b in itertools.product(("fp16", "fp32"), BMM, (12, 96, 384)):

        def prepare(b=b, m=m, n=n, k=k, dtype=dtype):
            torch.backends.cuda.matmul.allow_tf32 = False
            x, y = act((b, m, k), dtype), act((b, k, n), dtype)
            return lambda: torch.bmm(x, y)

        yield "bmm", dict(b=b, m=m, n=n, k=k, dtype=dtype), prepare


def norms_2d():
    """Batch and group normalisation of images."""
    shapes = [
        (64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14),
        (1024, 14), (512, 7), (2048, 7), (96, 112), (144, 56), (960, 7),
    ]  # fmt: skip
    for (c, h), n in itertools.product(shapes, (1, 8, 32, 128)):

        def prepare(n=n, c=c, h=h):
            x, w, b, mean = act((n, c, h, h)), act((c,)), act((c,)), act((c,))
            var = act((c,)).abs() + 0.5
            return lambda: F.batch_norm(x, mean, var, w, b, False)

        yield "batch_norm", dict(n=n, c=c, h=h, w=h, dtype="fp16"), prepare
    for n, c, h in [(1, 320, 64), (8, 320, 64), (1, 1280, 16)]:

        def prepare(n=n, c=c, h=h):
            x, w, b = act((n, c, h, h)), act((c,)), act((c,))
            return lambda: F.group_norm(x, 32, w, b)

        params = dict(n=n, c=c, h=h, w=h, groups=32, dtype="fp16")
        yield "group_norm", params, prepare


UNARY = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "pow2": lambda x: x.pow(2),
    "neg": torch.neg,
    "mul_scalar": lambda x: x * 1.5,
    "add_scalar": lambda x: x + 1.5,
    "hardtanh": lambda x: F.hardtanh(x, 0.0, 6.0),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "copy": torch.clone,
    "dropout_train": lambda x: F.dropout(x, 0.1, True),
}
UNARY_FP32 = {"rsqrt": torch.rsqrt, "pow2": UNARY["pow2"]}
BINARY = {"add": torch.add, "mul": torch.mul}
CASTS = [("fp16", "fp32"), ("fp32", "fp16"), ("bf16", "fp32")]


def pointwise_ops():
    """(op, dtype, extra params, build) for the elementwise sweep."""
    for op, fn in UNARY.items():
        yield op, "fp16", {}, lambda x, fn=fn: lambda: fn(x)
    for op, fn in UNARY_FP32.items():
        yield op, "fp32", {}, lambda x, fn=fn: lambda: fn(x)
    for dtype, (op, fn) in itertools.product(("fp16", "fp32"), BINARY.items()):

        def build(x, fn=fn, dtype=dtype):
            y = act(x.shape, dtype)
            return lambda: fn(x, y)

        yield op, dtype, {}, build

    def build_inplace(x):
        y, total = x, x.clone()
        return lambda: total.add_(y)

    yield "add_", "fp16", {}, build_inplace

    def build_fill(x):
        target = torch.empty_like(x)
        return lambda: target.fill_(1.0)

    yield "fill_", "fp16", {}, build_fill
    for source, target in CASTS:
        to = DTYPES[target]
        yield "cast", source, {"to": target}, lambda x, to=to: lambda: x.to(to)


def pointwise():
    """Elementwise operators over a range of sizes."""
    sizes = [2**p for p in (10, 12, 14, 16, 18, 20, 22, 24, 26, 27, 28)]
    for (op, dtype, extra, build), numel in itertools.product(list(pointwise_ops()), sizes):

        def prepare(numel=numel, dtype=dtype, build=build):
            return build(act((numel,), dtype))

        yield op, dict(numel=numel, dtype=dtype, **extra), prepare


def broadcasts():
    """Products and sums with a broadcast operand."""
    for c, r in itertools.product((768, 4096), (1, 8, 64, 512, 4096, 32768, 65536)):

        def by_row(r=r, c=c):
            x, w = act((r, c)), act((c,))
            return lambda: x * w

        def by_column(r=r, c=c):
            x, w = act((r, c), "fp32"), act((r, 1), "fp32")
            return lambda: x * w

        yield "mul_row", dict(rows=r, cols=c, dtype="fp16"), by_row
        yield "mul_col", dict(rows=r, cols=c, dtype="fp32"), by_column
    for b, h, s in itertools.product((1, 8), (32, 8), (1, 512, 2048)):

        def rope(b=b, h=h, s=s):
            x = act((b, s, h, 128), "bf16").transpose(1, 2)
            cos = act((b, 1, s, 128), "bf16")
            return lambda: x * cos

        yield "mul_rope", dict(b=b, h=h, s=s, d=128, dtype="bf16"), rope
    for b, s, d in itertools.product((1, 8, 32), (197, 512), (768, 1024)):

        def position(b=b, s=s, d=d):
            x, pos = act((b, s, d)), act((1, s, d))
            return lambda: x + pos

        yield "add_pos", dict(b=b, s=s, d=d, dtype="fp16"), position


ATTENTION = [
    (12, 12, 128, 128, 64, False), (12, 12, 197, 197, 64, False),
    (12, 12, 512, 512, 64, True), (12, 12, 1024, 1024, 64, True),
    (16, 16, 1024, 1024, 64, False), (32, 8, 512, 512, 128, True),
    (32, 8, 2048, 2048, 128, True), (32, 32, 2048, 2048, 128, True),
    (32, 8, 1, 512, 128, False), (32, 8, 1, 2048, 128, False),
    (32, 8, 1, 8192, 128, False),
]  # fmt: skip


def attention():
    """Scaled dot-product attention on transposed views, default backend."""
    for dtype, shape, b in itertools.product(("fp16", "bf16"), ATTENTION, (1, 8, 32)):
        h, hkv, sq, sk, d, causal = shape

        def prepare(b=b, shape=shape, dtype=dtype):
            h, hkv, sq, sk, d, causal = shape
            q = act((b, sq, h, d), dtype).transpose(1, 2)
            k = act((b, sk, hkv, d), dtype).transpose(1, 2)
            v = act((b, sk, hkv, d), dtype).transpose(1, 2)
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != hkv)

        params = dict(b=b, h=h, hkv=hkv, sq=sq, sk=sk, d=d)
        yield "sdpa", dict(params, causal=int(causal), dtype=dtype), prepare


ROW_SHAPES = [
    (1, 768), (128, 768), (197, 768), (512, 768), (4096, 768), (6304, 768),
    (16384, 768), (1, 4096), (8, 4096), (512, 4096), (4096, 4096),
    (32768, 4096), (65536, 1024), (2048, 1024), (12 * 512, 512),
    (384 * 197, 197), (16384, 8192),
]  # fmt: skip
ROW_OPS = [
    ("layer_norm", "fp16", lambda x, w: F.layer_norm(x, w.shape, w, w)),
    ("softmax", "fp16", lambda x, w: F.softmax(x, -1)),
    ("softmax", "fp32", lambda x, w: F.softmax(x, -1)),
    ("rms_norm", "fp16", lambda x, w: F.rms_norm(x, w.shape, w)),
    ("mean", "fp32", lambda x, w: x.mean(-1, keepdim=True)),
    ("sum", "fp32", lambda x, w: x.sum(-1)),
    ("sum", "fp16", lambda x, w: x.sum(-1)),
    ("var", "fp32", lambda x, w: x.var(-1)),
]


def rows():
    """Operators that reduce or normalise the last dimension."""
    for (op, dtype, fn), (r, c) in itertools.product(ROW_OPS, ROW_SHAPES):

        def prepare(r=r, c=c, dtype=dtype, fn=fn):
            x, w = act((r, c), dtype), act((c,), dtype)
            return lambda: fn(x, w)

        yield op, dict(rows=r, cols=c, dtype=dtype), prepare
    for r, c in [(512, 50257), (4096, 32000), (128, 1000)]:

        def log_softmax(r=r, c=c):
            x = act((r, c))
            return lambda: F.log_softmax(x, -1)

        def cross_entropy(r=r, c=c):
            x, target = act((r, c)), ids(r, c)
            return lambda: F.cross_entropy(x, target)

        yield "log_softmax", dict(rows=r, cols=c, dtype="fp16"), log_softmax
        yield "cross_entropy", dict(rows=r, cols=c, dtype="fp16"), cross_entropy
    for power, dtype in itertools.product(range(12, 29, 2), ("fp16", "fp32")):

        def total(numel=2**power, dtype=dtype):
            x = act((numel,), dtype)
            return lambda: x.sum()

        yield "sum_all", dict(numel=2**power, dtype=dtype), total


def movement_ops():
    """(op, params, function of the inputs, input shapes) that move data."""
    for b, s in itertools.product((1, 8), (1, 512, 2048)):
        shape = (b, 32, s, 64)
        params = dict(b=b, h=32, s=s, d=128, dtype="bf16")
        yield "cat_last", params, lambda x, y: torch.cat((x, y), -1), [shape] * 2
    for b, ctx in itertools.product((1, 8), (512, 2048, 8192)):
        shapes = [(b, 8, ctx, 128), (b, 8, 1, 128)]
        params = dict(b=b, h=8, ctx=ctx, d=128, dtype="bf16")
        yield "cat_seq", params, lambda x, y: torch.cat((x, y), -2), shapes
    for b in (1, 32):
        shapes = [(b, 1, 768), (b, 196, 768)]
        params = dict(b=b, s=196, d=768, dtype="fp16")
        yield "cat_token", params, lambda x, y: torch.cat((x, y), 1), shapes
    for b, s, h, d in [
        (1, 197, 12, 64), (32, 197, 12, 64), (1, 512, 32, 128),
        (8, 512, 32, 128), (8, 2048, 32, 128), (8, 512, 12, 64),
    ]:  # fmt: skip
        params = dict(b=b, s=s, h=h, d=d, dtype="fp16")
        fn = lambda x: x.transpose(1, 2).contiguous()  # noqa: E731
        yield "transpose_heads", params, fn, [(b, s, h, d)]
    for r, c in [(197, 768), (1024, 1024), (4096, 4096), (16384, 4096)]:
        params = dict(rows=r, cols=c, dtype="fp16")
        yield "transpose_2d", params, lambda x: x.t().contiguous(), [(r, c)]
    images = [(32, 112), (96, 112), (144, 56), (384, 14), (960, 7)]
    pads = [(1, 1, 1, 1), (0, 1, 0, 1), (0, 0, 0, 0)]
    for (c, h), n, pad in itertools.product(images, (1, 32, 128), pads):
        params = dict(n=n, c=c, h=h, w=h, dtype="fp16")
        params.update(zip(("left", "right", "top", "bottom"), pad))
        yield "pad", params, lambda x, pad=pad: F.pad(x, pad), [(n, c, h, h)]
    for n in (1, 8, 32, 128):
        params = dict(n=n, c=64, h=112, w=112, k=3, stride=2, pad=1, dtype="fp16")
        yield "max_pool2d", params, lambda x: F.max_pool2d(x, 3, 2, 1), [(n, 64, 112, 112)]
        params = dict(n=n, c=256, h=56, w=56, k=2, stride=2, pad=0, dtype="fp16")
        yield "avg_pool2d", params, lambda x: F.avg_pool2d(x, 2), [(n, 256, 56, 56)]
        for c, h, w in [(2048, 7, 7), (1280, 7, 7), (64, 25, 5)]:
            params = dict(n=n, c=c, h=h, w=w, dtype="fp16")
            shapes = [(n, c, h, w)]
            fn = lambda x: F.adaptive_avg_pool2d(x, 1)  # noqa: E731
            yield "adaptive_avg_pool2d", params, fn, shapes
            yield "mean_hw", params, lambda x: x.mean((2, 3)), shapes
    for n, c, h in [(1, 320, 32), (8, 320, 32), (1, 1280, 16), (8, 640, 32)]:
        params = dict(n=n, c=c, h=h, w=h, scale=2, dtype="fp16")
        fn = lambda x: F.interpolate(x, scale_factor=2)  # noqa: E731
        yield "upsample_nearest", params, fn, [(n, c, h, h)]
    for r, c in [(1, 50257), (16, 128256), (512, 1000), (4096, 32000)]:
        params = dict(rows=r, cols=c, dtype="fp16")
        yield "argmax", params, lambda x: x.argmax(-1), [(r, c)]
    for r in (1, 64, 512, 4096, 16384):
        params = dict(rows=r, cols=8, k=2, dtype="fp32")
        yield "topk", params, lambda x: x.topk(2, -1), [(r, 8)]
    for r, c in [(1, 8), (1, 512), (8, 512), (64, 2048)]:
        params = dict(rows=r, cols=c, dtype="fp32")
        yield "cumsum", params, lambda x: x.cumsum(-1), [(r, c)]
    for b, h, s in [(1, 12, 128), (8, 12, 512), (1, 32, 2048)]:
        params = dict(b=b, h=h, s=s, dtype="fp16")
        shapes = [(b, h, s, s), (1, 1, s, s)]
        fn = lambda x, m: x.masked_fill(m > 0, -1e4)  # noqa: E731
        yield "compare_masked_fill", params, fn, shapes
        fn = lambda x, m: torch.where(x.bool(), x, m)  # noqa: E731
        yield "bool_where", params, fn, shapes


def movement():
    """Copies, concatenations, pads, pools and lookups."""
    for vocab, d, n in itertools.product((50257, 128256), (768, 4096), (1, 128, 512, 4096, 16384)):

        def lookup(vocab=vocab, d=d, n=n):
            table = act((vocab, d))
            picks = itertools.cycle([ids(n, vocab) for _ in range(WARMUP + ITERATIONS)])
            return lambda: F.embedding(next(picks), table)

        params = dict(vocab=vocab, dim=d, tokens=n, dtype="fp16")
        yield "embedding", params, lookup
    for op, params, fn, shapes in movement_ops():

        def prepare(fn=fn, shapes=shapes, dtype=params["dtype"]):
            inputs = [act(shape, dtype) for shape in shapes]
            return lambda: fn(*inputs)

        yield op, params, prepare
    for b, h, s in [(1, 12, 128), (8, 12, 512), (1, 32, 2048)]:

        def masked_fill(b=b, h=h, s=s):
            x, mask = act((b, h, s, s)), act((1, 1, s, s)) > 0
            return lambda: x.masked_fill(mask, -1e4)

        def where(b=b, h=h, s=s):
            x, y, mask = act((b, h, s, s)), act((1,)), act((1, 1, s, s)) > 0
            return lambda: torch.where(mask, x, y)

        yield "masked_fill", dict(b=b, h=h, s=s, dtype="fp16"), masked_fill
        yield "where", dict(b=b, h=h, s=s, dtype="fp16"), where
    for r, c, n in [(4096, 768, 512), (65536, 1024, 4096), (32768, 4096, 16384)]:

        def select(r=r, c=c, n=n):
            x, index = act((r, c)), ids(n, r)
            return lambda: torch.index_select(x, 0, index)

        def index(r=r, c=c, n=n):
            x, index = act((r, c)), ids(n, r)
            return lambda: x[index]

        def gather(r=r, c=c, n=n):
            x, index = act((r, c)), ids(n, r)[:, None].expand(n, c).contiguous()
            return lambda: torch.gather(x, 0, index)

        for op, prepare in [("index_select", select), ("index", index), ("gather", gather)]:
            yield op, dict(rows=r, cols=c, picks=n, dtype="fp16"), prepare
    for numel in (128, 2048, 2**20):
        yield "arange", dict(numel=numel, dtype="int64"), lambda numel=numel: lambda: torch.arange(numel, device=DEVICE)


def cases():
    """Every case, the most important sweeps first."""
    sweeps = [convs, linears, norms_2d, pointwise, attention, rows, broadcasts]
    for sweep in sweeps + [movement, bmms]:
        yield from sweep()


# ------------------------------------------------------------------- launch


def launch_ops():
    """Name and call of operators on tensors too small to keep a GPU busy."""
    make = dict(device=DEVICE, dtype=torch.float16)
    x, y = torch.randn(64, 64, **make), torch.randn(64, 64, **make)
    row, total = torch.randn(64, **make), torch.zeros(64, 64, **make)
    var = torch.ones(64, **make)
    image, kernel = torch.randn(1, 64, 8, 8, **make), torch.randn(64, 64, 3, 3, **make)
    depth = torch.randn(64, 1, 3, 3, **make)
    batch, heads = torch.randn(4, 32, 32, **make), torch.randn(1, 4, 32, 64, **make)
    picks, mask = ids(64, 64), x > 0
    nn = torch.nn
    modules = {
        "nn_linear": (nn.Linear(64, 64, **make), x),
        "nn_conv2d": (nn.Conv2d(64, 64, 3, padding=1, bias=False, **make), image),
        "nn_relu": (nn.ReLU(), x),
        "nn_layer_norm": (nn.LayerNorm(64, **make), x),
        "nn_batch_norm": (nn.BatchNorm2d(64, **make).eval(), image),
    }
    calls = {
        "linear": lambda: F.linear(x, y, row),
        "linear_no_bias": lambda: F.linear(x, y),
        "matmul": lambda: x @ y,
        "bmm": lambda: torch.bmm(batch, batch),
        "conv2d": lambda: F.conv2d(image, kernel, None, 1, 1),
        "conv2d_depthwise": lambda: F.conv2d(image, depth, None, 1, 1, 1, 64),
        "batch_norm": lambda: F.batch_norm(image, row, var, row, row, False),
        "layer_norm": lambda: F.layer_norm(x, (64,), row, row),
        "rms_norm": lambda: F.rms_norm(x, (64,), row),
        "group_norm": lambda: F.group_norm(image, 32, row, row),
        "softmax": lambda: F.softmax(x, -1),
        "sdpa": lambda: F.scaled_dot_product_attention(heads, heads, heads),
        "relu": lambda: F.relu(x),
        "gelu": lambda: F.gelu(x),
        "silu": lambda: F.silu(x),
        "add": lambda: x + y,
        "add_": lambda: total.add_(y),
        "mul": lambda: x * y,
        "mul_scalar": lambda: x * 1.5,
        "pow2": lambda: x.pow(2),
        "mean": lambda: x.mean(-1),
        "sum": lambda: x.sum(-1),
        "cast": lambda: x.float(),
        "copy": lambda: x.clone(),
        "transpose_contiguous": lambda: x.t().contiguous(),
        "cat": lambda: torch.cat((x, y), -1),
        "embedding": lambda: F.embedding(picks, x),
        "pad": lambda: F.pad(image, (1, 1, 1, 1)),
        "max_pool2d": lambda: F.max_pool2d(image, 3, 2, 1),
        "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, 1),
        "masked_fill": lambda: x.masked_fill(mask, 0.0),
        "where": lambda: torch.where(mask, x, y),
        "dropout_train": lambda: F.dropout(x, 0.1, True),
        "argmax": lambda: x.argmax(-1),
        "arange": lambda: torch.arange(64, device=DEVICE),
        "empty": lambda: torch.empty(64, **make),
        "view_transpose": lambda: x.view(8, 8, 64).transpose(0, 1),
    }
    for name, (module, given) in modules.items():
        calls[name] = lambda module=module, given=given: module(given)
    return calls


def host_seconds(call, count=200, repeats=7):
    """Host time of one call when many are queued back to back."""
    found = []
    for _ in range(repeats):
        sync()
        start = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - start) / count)
    sync()
    return round(statistics.median(found), 10)


def graph_seconds(call, count=200, repeats=7):
    """GPU time of one call inside a replayed CUDA graph of many."""
    if DEVICE != "cuda":
        return None
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    found = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        sync()
        found.append(begin.elapsed_time(end) * 1e-3 / count)
    return round(statistics.median(found), 10)


def clock_launches(calls):
    """Rows of kind "launch", timed before a profiler has ever been started."""
    found = []
    for op, call in calls.items():
        row = {"kind": "launch", "op": op}
        try:
            for _ in range(20):
                call()
            row["wall_s"] = host_seconds(call)
            row["graph_s"] = graph_seconds(call)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        found.append(row)
    trips, idle = [], []
    for _ in range(200):
        sync()
        start = time.perf_counter()
        calls["add_"]()
        sync()
        trips.append(time.perf_counter() - start)
        start = time.perf_counter()
        sync()
        idle.append(time.perf_counter() - start)
    for op, times in [("sync_roundtrip", trips), ("sync_idle", idle)]:
        median = round(statistics.median(times), 10)
        found.append({"kind": "launch", "op": op, "wall_s": median})
    return found


def profile_launches(calls, found):
    """Add what the profiler sees, and the host time once it has been used."""
    profiles = profile([lambda call=call: call for call in calls.values()])
    for (op, call), seen, row in zip(calls.items(), profiles, found):
        row["kernels"], row["busy_s"] = seen.get("kernels"), seen.get("busy_s")
        if not row["kernels"]:
            row["graph_s"] = None
        row["wall_after_profiler_s"] = host_seconds(call)


# --------------------------------------------------------------------- main


def sweep(todo, path, seconds, chunk):
    """Profile (op, params, prepare) cases, `chunk` to a session, while time lasts; the file is written after each session."""
    begun, found = time.monotonic(), []
    with torch.no_grad():
        for start in range(0, len(todo), chunk):
            if time.monotonic() - begun > seconds:
                print("out of time at", start, "of", len(todo), flush=True)
                break
            part = todo[start : start + chunk]

            def fresh(prepare):
                def run():
                    ACTIVATIONS.reset()
                    return prepare()

                return run

            for (op, params, _), result in zip(part, profile([fresh(p) for *_, p in part])):
                found.append({"kind": "op", "op": op, "params": params, **result})
            write(path, METHOD, found)
            print(f"{time.monotonic() - begun:6.1f} s {len(found)}/{len(todo)}", flush=True)
            if DEVICE == "cuda" and torch.cuda.memory_reserved() > 60e9:
                torch.cuda.empty_cache()


def main():
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".", help="folder for ops.json")
    parser.add_argument("--seconds", type=float, default=330.0)
    parser.add_argument("--limit", type=int, help="at most this many cases per op")
    parser.add_argument("--chunk", type=int, default=96, help="cases per session")
    args = parser.parse_args()
    path = os.path.join(args.out, "ops.json")
    torch.manual_seed(0)
    begun = time.monotonic()
    todo, counts = [], {}
    for case in cases():
        counts[case[0]] = counts.get(case[0], 0) + 1
        if args.limit is None or counts[case[0]] <= args.limit:
            todo.append(case)
    with torch.no_grad():
        calls, found = launch_ops(), []
        launched = clock_launches(calls)
        for start in range(0, len(todo), args.chunk):
            if time.monotonic() - begun > args.seconds:
                print("out of time at case", start, "of", len(todo), flush=True)
                break
            part = todo[start : start + args.chunk]

            def fresh(prepare):
                def run():
                    ACTIVATIONS.reset()
                    return prepare()

                return run

            seen = profile([fresh(prepare) for _, _, prepare in part])
            for (op, params, _), result in zip(part, seen):
                found.append({"kind": "op", "op": op, "params": params, **result})
            if DEVICE == "cuda" and torch.cuda.memory_reserved() > 60e9:
                torch.cuda.empty_cache()
            write(path, METHOD, found + launched)
            print(
                f"{time.monotonic() - begun:6.1f} s {len(found)}/{len(todo)}",
                part[-1][0],
                sum("error" in row for row in found),
                "errors",
                flush=True,
            )
        profile_launches(calls, launched)
        found += launched
        write(path, METHOD, found)
    for row in found:
        if "error" in row:
            print(row["op"], row.get("params"), row["error"], flush=True)
    print("rows", len(found), f"in {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
