"""Calls that own code makes and libraries seldom do, by several sizes each: rows of evidence as capture has the same call.

    PYTHONPATH=src python3 benchmarks/device/single_calls.py --out FILE.json [--dry]
    python benchmarks/device/single_calls.py --cases      some of them become cases of the wide sweep; nothing is measured

Softmax down an axis, norms of few long rows, lookups of short rows, gradients of gathers, sums of short rows and over outer axes, windows,
products of more small matrices than one launch takes. A call that comes to several ops, or to one without a kind, keeps its ATen name.
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from functools import partial
from pathlib import Path

import torch
from captured_rows import params
from gpu import GPU, write

import ironlaw as il
from ironlaw.measure.devices.kernel_times import profile
from ironlaw.measure.rows import op_row
from ironlaw.measure.suites.cuda.cases.single_calls import STORED
from ironlaw.registry.evidence import evidence

LONG = 4096  # of a product's inner dimension
MOST = 6e9  # bytes of a call's inputs
LARGE, LONGEST, EACH = 5e8, 4e-3, 3  # bytes and seconds of a case of the wide sweep, and how many there are of a kind
NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.int64: "int64", torch.bool: "bool"}
METHOD = (
    "GPU kernel, memset and memcpy durations from torch.profiler (CUDA activity only), 2 warm-up and 5 measured calls per row, a marker "
    "kernel before every call; busy_s is the median over calls of the sum of durations. ATen functions called by themselves on random "
    "data, which stays where the call before left it. called: the op as `ironlaw` captures the same call on tensors without data; a row "
    "with ATen's name is of a call that comes to several ops."
)
A = torch.ops.aten
F32, BF16 = torch.float32, torch.bfloat16


class X:
    """A tensor to be made: random numbers, or places below `below`; every `step`-th column of a wider one; with its channels last."""

    def __init__(self, *shape, dtype=None, below=0, step=1, last=False):
        self.shape, self.dtype, self.below, self.step, self.last = shape, dtype, below, step, last

    def made(self, dtype, device):
        shape = [*self.shape[:-1], self.shape[-1] * self.step]
        if self.below:
            x = torch.randint(self.below, shape, device=device)
        else:
            x = torch.randn(shape, device=device).to(self.dtype or dtype)
        x = x.to(self.dtype) if self.below and self.dtype else x
        x = x.to(memory_format=torch.channels_last) if self.last else x
        return x[..., :: self.step]

    @property
    def bytes(self):
        size = 4 * self.step
        for each in self.shape:
            size *= each
        return size


def softmaxes():
    """Down an axis: (outer, how long it is, inner)."""
    shapes = (
        (4, 16000, 2047),
        (2, 4800, 4800),
        (1, 4096, 4096),
        (16, 4096, 256),
        (64, 1024, 64),
        (8, 1024, 1024),
        (4, 200, 65536),
        (32, 128, 1024),
        (256, 64, 16),
        (2, 19, 262144),
        (1, 65536, 8),
        (8, 21, 4096),
    )
    for outer, long, inner in shapes:
        x = X(outer, long, inner)
        for dtype in (F32, BF16):
            yield A._softmax.default, (x, 1, False), dtype
            yield A._log_softmax.default, (x, 1, False), dtype
            yield A._softmax_backward_data.default, (x, x, 1, dtype), dtype
            yield A._log_softmax_backward_data.default, (x, x, 1, dtype), dtype


def norms():
    """Few long rows, and many; planes of few channels."""
    for rows, width in (
        (1, 1 << 20),
        (8, 1 << 18),
        (32, 65536),
        (96, 164352),
        (132, 32768),
        (264, 164352),
        (1024, 16384),
        (2048, 32768),
        (16, 8192),
    ):
        x, w, s = X(rows, width), X(width), X(rows, 1, dtype=F32)
        for dtype in (F32, BF16):
            yield A.native_layer_norm.default, (x, [width], w, w, 1e-5), dtype
            yield A.native_layer_norm_backward.default, (x, x, [width], s, s, w, w, [True, True, True]), dtype
    shapes = (
        (1, 8, 1 << 20),
        (8, 8, 204800),
        (8, 32, 51200),
        (1, 64, 1 << 18),
        (2, 16, 1 << 19),
        (16, 4, 65536),
    )
    for n, c, plane in shapes:
        x, w = X(n, c, plane // 64, 64), X(c)
        for dtype in (F32, BF16):
            yield A.native_batch_norm.default, (x, w, w, w, X(c, below=3, dtype=dtype), False, 0.1, 1e-5), dtype
            yield A.native_batch_norm.default, (x, w, w, w, X(c, below=3, dtype=dtype), True, 0.1, 1e-5), dtype


def wide_norms():
    """About as many rows as the GPU has multiprocessors, and the same for a softmax (evidence h200_sxm/wide_norms)."""
    for rows in (64, 112, 128, 129, 160, 256, 264, 512):
        for width in (2048, 4096, 8192, 16384, 65536):
            x, w = X(rows, width), X(width)
            for dtype in (F32, BF16):
                yield A.native_layer_norm.default, (x, [width], w, w, 1e-5), dtype
                yield A._softmax.default, (x, -1, False), dtype


def lookups():
    """Rows of a table, by an index that lies in one piece and by a column of one; gradients; sums at an index."""
    for rows, cols, picks in (
        (256, 8, 2097152),
        (145, 32, 1000000),
        (1000000, 64, 524288),
        (30000, 512, 65536),
        (500, 128, 30000),
        (32000, 2048, 8192),
        (200, 32, 4096),
        (50, 16, 400000),
    ):
        for dtype in (F32, BF16):
            for step in (1, 8):
                yield A.embedding.default, (X(rows, cols), X(picks, below=rows, step=step)), dtype
        yield A.embedding_dense_backward.default, (X(picks, cols), X(picks, below=rows), rows, -1, False), F32
        yield A.embedding_dense_backward.default, (X(picks, cols), X(picks, below=rows), rows, -1, False), BF16
    for rows, cols, picks in (
        (3840, 128, 69120),
        (20000, 128, 120000),
        (100000, 3, 400000),
        (512, 1, 65536),
        (4096, 64, 3000),
        (8192, 512, 49152),
    ):
        for dtype in (F32, BF16):
            yield A.index_put.default, (X(rows, cols), [X(picks, below=rows)], X(picks, cols), True), dtype
            yield A.index_add.default, (X(rows, cols), 0, X(picks, below=rows), X(picks, cols)), dtype
    for b, n, d, picks in ((4096, 30, 32, 435), (64, 300, 64, 1000), (512, 39, 16, 741), (8, 2000, 256, 900)):
        for dtype in (F32, BF16):
            yield A.index.Tensor, (X(b, n, d), [None, X(picks, below=n)]), dtype
            yield A.index_put.default, (X(b, n, d), [None, X(picks, below=n)], X(b, picks, d), True), dtype


def sums():
    """Of short rows, over outer axes with a few left, of flags and whole numbers."""
    for shape, axes in (
        ((4096, 435, 32), [2]),
        ((512, 1024, 64), [2]),
        ((64, 255, 20, 40), [3]),
        ((1048576, 8), [1]),
        ((262144, 16), [1]),
        ((65536, 100), [1]),
        ((8, 16, 768, 768), [0, 2, 3]),
        ((4, 8, 512, 64), [0, 2, 3]),
        ((64, 32, 56, 56), [0, 2, 3]),
        ((16, 512, 14, 14), [0, 2, 3]),
        ((3, 128, 64), [0]),
        ((2, 1024, 512), [0]),
        ((8, 4096, 64), [0]),
        ((24, 5, 40, 1024), [0, 1]),
    ):
        for dtype in (F32, BF16):
            yield A.sum.dim_IntList, (X(*shape), axes), dtype
            yield A.amax.default, (X(*shape), axes), dtype
    for shape in ((512, 1024, 64), (4096, 1000), (64, 65536)):
        yield A.sum.dim_IntList, (X(*shape, below=2, dtype=torch.bool), [-1]), F32
        yield A.sum.dim_IntList, (X(*shape, below=99), [-1]), F32


def chosen():
    """Sorting and selecting by format."""
    for rows, width, kept in (
        (512, 1024, 48),
        (4096, 16000, 50),
        (48, 400000, 200),
        (2048, 4096, 16),
        (8192, 512, 8),
        (16, 65536, 100),
        (1, 1000000, 1000),
    ):
        for dtype in (F32, BF16):
            yield A.topk.default, (X(rows, width), kept), dtype
        yield A.topk.default, (X(rows, width, below=1 << 20), kept), F32
    for rows, width in ((512, 65536), (1, 1 << 22), (4096, 2048), (65536, 128)):
        for dtype in (F32, BF16):
            yield A.sort.default, (X(rows, width),), dtype
        yield A.sort.default, (X(rows, width, below=1 << 20),), F32
        yield A.cumsum.default, (X(rows, width), 0), F32
        yield A.cumsum.default, (X(rows, width), 1), BF16


def windows():
    """im2col, its inverse, unfold's gradient, and gradients of pooling and resizing."""
    for n, c, h, w, k in ((4, 32, 96, 192, 9), (16, 64, 56, 56, 3), (2, 128, 64, 64, 5)):
        rows, places = c * k * k, h * w
        for dtype in (F32, BF16):
            yield A.im2col.default, (X(n, c, h, w), [k, k], [1, 1], [k // 2, k // 2], [1, 1]), dtype
            yield A.col2im.default, (X(n, rows, places), [h, w], [k, k], [1, 1], [k // 2, k // 2], [1, 1]), dtype
    for n, frames, length, hop in ((16, 768, 1024, 256), (24, 384, 1024, 256), (4, 400, 512, 128)):
        whole = (frames - 1) * hop + length
        yield A.im2col.default, (X(n, 1, 1, whole), [1, length], [1, 1], [0, 0], [1, hop]), F32
        yield A.col2im.default, (X(n, length, frames), [1, whole], [1, length], [1, 1], [0, 0], [1, hop]), F32
    for n, m, d, size in ((8, 2066, 384, 19), (16, 1024, 64, 9), (64, 8192, 1, 512)):
        for dtype in (F32, BF16):
            yield A.unfold_backward.default, (X(n, m - size + 1, d, size), [n, m, d], 1, size, 1), dtype
    for n, c, h, w in ((64, 64, 1000, 64), (8, 32, 256, 256), (16, 256, 32, 32)):
        for dtype in (F32, BF16):
            yield A.avg_pool2d_backward.default, (X(n, c, h // 2, w // 2), X(n, c, h, w), [2, 2], [2, 2], [0, 0], False, True, None), dtype
            yield A.upsample_bilinear2d_backward.default, (X(n, c, h, w), [h, w], [n, c, h // 2, w // 2], False, None, None), dtype
            yield A.upsample_nearest2d_backward.default, (X(n, c, h, w), [h, w], [n, c, h // 2, w // 2], None, None), dtype
    for n, c, h, w, down in ((4, 256, 32, 64, 32), (8, 64, 128, 128, 16)):
        for dtype in (F32, BF16):
            yield A.upsample_bilinear2d_backward.default, (X(n, c, h, w), [h, w], [n, c, h // down, w // down], False, None, None), dtype


def products():
    """Of small matrices: more than one launch takes, and rows that fill no vector."""
    for b, m, k, n in (
        (24576, 6, 6, 6),
        (24576, 2, 2, 2),
        (65535, 4, 4, 4),
        (200000, 4, 4, 4),
        (589824, 48, 1, 12),
        (98304, 1, 64, 19),
        (400000, 3, 3, 1),
        (100000, 16, 8, 1),
        (4096, 12, 12, 12),
        (16384, 32, 32, 32),
        (64, 4, 128, 4161),
        (64, 4, 4161, 128),
        (96, 4, 49152, 4),
    ):
        for dtype in (F32, BF16):
            yield A.bmm.default, (X(b, m, k), X(b, k, n)), dtype


def depthwise():
    """Convolutions of each channel by itself, with square windows and oblong ones, in both layouts, and their gradients."""
    for n, c, h, w, kh, kw in (
        (16, 256, 1, 1600, 1, 31),
        (16, 512, 1, 400, 1, 15),
        (8, 768, 1, 2048, 1, 4),
        (8, 384, 56, 56, 7, 7),
        (8, 96, 112, 112, 1, 11),
        (8, 96, 112, 112, 11, 1),
        (16, 256, 28, 28, 3, 7),
        (32, 192, 28, 28, 5, 5),
        (16, 384, 14, 14, 1, 21),
        (16, 384, 14, 14, 21, 1),
        (4, 64, 128, 128, 1, 5),
        (4, 64, 128, 128, 5, 1),
        (2, 48, 256, 256, 3, 3),
        (16, 128, 32, 32, 9, 3),
    ):
        for last in (False, True):
            x, taps = X(n, c, h, w, last=last), X(c, 1, kh, kw, last=last)
            how = [1, 1], [kh // 2, kw // 2], [1, 1], False, [0, 0], c
            y = X(n, c, h + 1 - kh % 2, w + 1 - kw % 2, last=last)
            for dtype in (F32, BF16):
                yield A.convolution.default, (x, taps, None, *how), dtype
                yield A.convolution_backward.default, (y, x, taps, None, *how, [True, False, False]), dtype
                yield A.convolution_backward.default, (y, x, taps, None, *how, [False, True, False]), dtype


def volumes():
    """Convolutions of volumes and of films of few channels, and their gradients; images blurred to one channel."""
    for n, c, out, d, h, w, k, step in (
        (2, 1, 16, 64, 96, 96, 3, 1),
        (2, 8, 8, 48, 64, 80, 3, 1),
        (2, 16, 16, 48, 64, 80, 3, 1),
        (2, 32, 32, 24, 64, 80, 3, 1),
        (4, 3, 32, 16, 112, 112, 3, 1),
        (8, 3, 64, 16, 112, 112, 7, 2),
        (4, 64, 64, 8, 56, 56, 3, 1),
        (1, 4, 4, 96, 128, 128, 3, 1),
        (1, 48, 1, 64, 96, 96, 3, 1),
        (2, 16, 32, 48, 64, 80, 3, 2),
        (8, 24, 24, 12, 28, 28, 1, 1),
    ):
        how = [step] * 3, [k // 2] * 3, [1] * 3, False, [0] * 3, 1
        y = X(n, out, *(-(-size // step) for size in (d, h, w)))
        for dtype in (F32, BF16):
            yield A.convolution.default, (X(n, c, d, h, w), X(out, c, k, k, k), None, *how), dtype
            yield A.convolution_backward.default, (y, X(n, c, d, h, w), X(out, c, k, k, k), None, *how, [True, True, False]), dtype
    for n, c, size, k in ((16, 1, 256, 5), (8, 3, 512, 1), (32, 16, 128, 3), (4, 64, 256, 3)):
        how = [1, 1], [k // 2] * 2, [1, 1], False, [0, 0], 1
        for dtype in (F32, BF16):
            yield A.convolution.default, (X(n, c, size, size), X(1, c, k, k), None, *how), dtype
            yield (
                A.convolution_backward.default,
                (X(n, 1, size, size), X(n, c, size, size), X(1, c, k, k), None, *how, [True, True, False]),
                dtype,
            )


def single_rows():
    """Batches of products with one row or one column."""
    for b, k, n in (
        (4096, 64, 64),
        (65536, 32, 32),
        (16384, 16, 64),
        (2048, 512, 512),
        (512, 1024, 4096),
        (100000, 8, 8),
        (8192, 128, 256),
    ):
        for dtype in (F32, BF16):
            yield A.bmm.default, (X(b, 1, k), X(b, k, n)), dtype
            yield A.bmm.default, (X(b, n, k), X(b, k, 1)), dtype
            yield A.bmm.default, (X(b, k, 1), X(b, 1, n)), dtype


def few_rows():
    """Gradients of tables of few rows, and windows that do not overlap."""
    for tokens, rows, d in (
        (65536, 4, 256),
        (65536, 64, 256),
        (1_000_000, 12, 64),
        (1_000_000, 1000, 64),
        (8192, 16, 1024),
        (262144, 2, 768),
    ):
        for dtype in (F32, BF16):
            yield A.embedding_dense_backward.default, (X(tokens, d), X(tokens, below=rows), rows, -1, False), dtype
    for n, c, h, w, k in ((64, 3, 224, 224, 16), (16, 3, 512, 512, 8), (32, 64, 64, 64, 4), (8, 256, 32, 32, 2)):
        for dtype in (F32, BF16):
            yield A.im2col.default, (X(n, c, h, w), [k, k], [1, 1], [0, 0], [k, k]), dtype
            yield A.col2im.default, (X(n, c * k * k, (h // k) * (w // k)), [h, w], [k, k], [1, 1], [0, 0], [k, k]), dtype


def crowds():
    """Sums at an index where few rows take many: of one value each, of short rows and of long ones."""
    for cols in (1, 8, 64, 512):
        for rows in (4, 65, 1024, 32768):
            for picks in (16384, 163840, 1310720, 5242880):
                if picks * cols > 1e8:
                    continue
                shape = (cols,) if cols > 1 else ()
                target, index, values = X(rows, *shape), X(picks, below=rows), X(picks, *shape)
                yield A.index_put_.default, (target, [index], values, True), F32
                if rows < 1000 and picks < 2e6:
                    yield A.index_put_.default, (target, [index], values, True), BF16
                    yield A.index_add_.default, (target, 0, index, values), F32
                if cols > 8 and rows < 1000:
                    yield A.embedding_dense_backward.default, (values, index, rows, -1, False), F32
    for b, n, d, picks in ((8192, 484, 8, 231), (256, 16, 1, 4096), (64, 100, 128, 2000)):
        yield A.index_put_.default, (X(b, n, d), [None, X(picks, below=n)], X(b, picks, d), True), F32


GROUPS = {
    group.__name__: group
    for group in (softmaxes, norms, wide_norms, lookups, sums, chosen, windows, products, depthwise, volumes, single_rows, few_rows, crowds)
}


def mapped(args, change, kind=X):
    """Arguments with all of a kind replaced, those within lists too."""

    def one(a):
        return change(a) if isinstance(a, kind) else a

    return tuple([one(b) for b in a] if isinstance(a, list) else one(a) for a in args)


def prepared(call, args, dtype, device):
    given = mapped(args, lambda x: x.made(dtype, device))
    return lambda: call(*given)


def captured_call(call, args, dtype):
    """(op, params) as a row has them."""
    given = mapped(args, lambda x: x.made(dtype, "meta"))
    flat = [t for a in given for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)]

    def again(*tensors):
        left = iter(tensors)
        return call(*mapped(given, lambda _: next(left), torch.Tensor))

    with torch.no_grad():
        ops = [op for op in il.capture(again, tuple(flat)).ops if op.work.launches]
    if len(ops) > 1 or ops[0].kind == "unknown" or unlike(call, args, dtype):
        return None
    about = params(ops[0])
    about["attrs"] |= {"crowd": 1.0} if "places" in about["attrs"] else {}  # as many go to each place
    return "called", about


def unlike(call, args, dtype):
    """Whether models call it in another way, of which capture says the same: cuDNN has their batch norms in FP32, and the second matrix of
    a row's or a very long product mostly lies the other way round."""
    if call is A.bmm.default:
        _, rows, long = args[0].shape
        return rows == 1 or long > LONG
    return call is A.native_batch_norm.default and dtype == F32


def named(call, args, dtype):
    """(op, params) of a call that has no op of its own: its shapes, and what else it was given."""
    shapes = [list(a.shape) for a in mapped_flat(args)]
    rest = [str(a) for a in args if not isinstance(a, (X, list))]
    return call.name(), {"shapes": str(shapes), "rest": ", ".join(rest), "dtype": {F32: "fp32", BF16: "bf16"}[dtype]}


def mapped_flat(args):
    return [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, X)]


# ---- cases of the wide sweep


def as_case(call, args, dtype, params):
    """A call as `measure.suites.cuda.cases.single_calls` reads it."""

    def one(a):
        if isinstance(a, X):
            more = {name: value for name, value in (("below", a.below), ("step", a.step), ("last", a.last)) if value not in (0, 1, False)}
            kind = a.dtype or (torch.int64 if a.below else dtype)
            return {"shape": list(a.shape), "dtype": NAMES[kind], **more}
        if isinstance(a, torch.dtype):
            return {"dtype": NAMES[a]}
        return [one(b) for b in a] if isinstance(a, list) else a

    return {"params": params, "func": str(call).removeprefix("aten."), "args": [one(a) for a in args]}


def cases():
    """Some calls of each kind of kernel, from short to long, by what an H200 took."""
    known = {json.dumps(row.params, sort_keys=True): row for file in evidence("h200_sxm") for row in file.rows if row.op == "called"}
    machine, found = il.hardware("h200_sxm"), defaultdict(dict)
    library = machine.calibration.library
    for group in GROUPS.values():
        for call, args, dtype in group():
            said = captured_call(call, args, dtype) if sum(x.bytes for x in mapped_flat(args)) < LARGE else None
            row = known.get(json.dumps(said[1], sort_keys=True)) if said else None
            if row is None or not row.busy_s or row.busy_s > LONGEST:
                continue
            curves = {sample.kernel.curve for sample in library.samples([row], machine)}
            lead = max(library.lower(library.measured(row), machine, "eager"), key=lambda k: k.count * k.data).curve
            found[row.params["kind"], *sorted(curves or {lead})][json.dumps(said[1])] = row.busy_s, as_case(call, args, dtype, said[1])
    for some in found.values():
        in_order = sorted(some.values(), key=lambda one: one[0])
        places = {round(i * (len(in_order) - 1) / (EACH - 1)) for i in range(EACH)}
        yield from (in_order[place][1] for place in sorted(places))


def write_cases():
    chosen = {json.dumps(one["params"], sort_keys=True): one for one in cases()}
    STORED.write_text("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in chosen.values()) + "\n]\n")
    print(f"{STORED.name}: {len(chosen)} calls")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cases", action="store_true", help="write the cases of the wide sweep")
    parser.add_argument("--groups", default=",".join(GROUPS), help="only these, with commas between")
    parser.add_argument("--dry", action="store_true", help="tensors without data, to try it")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.cases:
        write_cases()
        return
    torch.manual_seed(0)
    rows, begin = [], time.monotonic()
    for group in (GROUPS[name] for name in args.groups.split(",")):
        cases = [case for case in group() if sum(x.bytes for x in mapped_flat(case[1])) < MOST]
        times = profile(GPU, [partial(prepared, *case, "meta" if args.dry else GPU.NAME) for case in cases], warmup=2, iterations=5, keep=6)
        for case, seen in zip(cases, times, strict=True):
            try:
                op, about = captured_call(*case) or named(*case)
            except Exception as error:
                op, about = named(*case)
                print(f"not captured: {op} {about['shapes']}: {str(error)[:100]}")
            rows.append(op_row(op, about, seen))
        write(args.out, METHOD, rows)
        failed = sum("error" in seen for seen in times)
        print(f"{group.__name__}: {len(cases)} calls, {failed} failed, {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
