"""One linear layer by how its weight is stored: plain BF16, 2:4 sparse, INT8, FP8, INT8 with 2:4 -> rows of evidence.

    python benchmarks/device/product_forms.py --out FILE.json

Each way is compared with the product it stands for before it is timed; one that is wrong, or that the library has no kernel for, is a row
with an error. Weights are walked over 256 MB, so that none is in the cache when its turn comes again.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from pathlib import Path

import torch
import torch.nn.functional as F
from gpu import GPU, write
from torch.sparse import SparseSemiStructuredTensorCUTLASS

from ironlaw.measure.devices.kernel_times import profile, reason
from ironlaw.measure.rows import function_row

ROWS = (32, 128, 512, 2048, 8192)
WEIGHTS = ((4096, 4096), (4096, 14336), (8192, 8192))  # (k, n)
COLD = 1 << 28
METHOD = (
    "GPU kernel, memset and memcpy durations from torch.profiler (CUDA activity only), 3 warm-up and 8 measured calls per row on one "
    "stream, a marker kernel before every call; busy_s is the median over calls of the sum of durations. y = x wᵀ with x of m × k and w of "
    "n × k. Modes: plain (BF16), two_four (BF16 with two of four weights kept; variant cutlass, cusparselt with its default algorithm, or "
    "searched with the algorithm that its search finds fastest), int8 (both operands, sums in INT32), int8_two_four, fp8 (both operands, "
    "one scale each). dtype is that of the plain product that each stands for. x is in its format already: turning it into INT8 or FP8 is "
    "not timed. Weights are walked over 256 MB or more; x stays where it is. Random data; results compared with the dense product first."
)


def pruned(w):
    """The two largest of each four along a row."""
    groups = w.view(-1, 4).float().abs()
    kept = torch.zeros_like(groups).scatter_(1, groups.topk(2, dim=1).indices, 1.0)
    return (w.view(-1, 4) * kept.to(w.dtype)).view_as(w)


def dense_bf16(shape):
    return torch.randn(shape, device=GPU.NAME, dtype=torch.bfloat16)


def dense_int8(shape):
    return torch.randint(-8, 8, shape, device=GPU.NAME, dtype=torch.int8)


def same(tensor):
    return tensor


def to_fp8(tensor):
    return tensor.to(torch.float8_e4m3fn)


def by_cusparselt(out, x, stored, **how):
    return torch._cslt_sparse_mm(stored, x.t(), out_dtype=out, transpose_result=True, **how)


def search(out, x, stored):
    """What cuSPARSELt finds fastest of its algorithms for this shape."""
    library = getattr(torch._C, "_cusparselt", None)
    if not hasattr(library, "mm_search"):
        return {"alg_id": torch._cslt_sparse_mm_search(stored, x.t(), out_dtype=out, transpose_result=True)}
    best = library.mm_search(stored, x.t(), None, None, out, True)
    return dict(zip(("alg_id", "split_k", "split_k_mode"), best))


def by_int8(x, w):
    return torch._int_mm(x, w.t())


def by_fp8(x, w):
    one = torch.ones((), device=GPU.NAME)
    return torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)


@dataclass(frozen=True)
class Way:
    mode: str
    multiply: Callable
    variant: str = ""
    make: Callable = dense_bf16
    prunes: bool = False
    store: Callable = same
    feed: Callable = same  # x in the format that is multiplied
    search: Callable | None = None
    bound: float = 0.01  # of the largest result, that one may be off


INT32 = torch.int32
WAYS = (
    Way("plain", F.linear),
    Way("two_four", F.linear, "cutlass", prunes=True, store=SparseSemiStructuredTensorCUTLASS.from_dense),
    Way("two_four", partial(by_cusparselt, None), "cusparselt", prunes=True, store=torch._cslt_compress),
    Way("two_four", partial(by_cusparselt, None), "searched", prunes=True, store=torch._cslt_compress, search=partial(search, None)),
    Way("int8", by_int8, make=dense_int8, bound=0.0),
    Way("int8_two_four", partial(by_cusparselt, INT32), "cusparselt", dense_int8, True, torch._cslt_compress, bound=0.0),
    Way(
        "int8_two_four",
        partial(by_cusparselt, INT32),
        "searched",
        dense_int8,
        True,
        torch._cslt_compress,
        same,
        partial(search, INT32),
        0.0,
    ),
    Way("fp8", by_fp8, store=to_fp8, feed=to_fp8, bound=0.05),
)


def prepare(way, m, k, n):
    """The call over weights that are cold; whether its result is right is asked first."""
    x = way.make((m, k))
    weights = [pruned(w) if way.prunes else w for w in (way.make((n, k)) for _ in range(2))]
    fed, stored = way.feed(x), [way.store(w) for w in weights]
    how = way.search(fed, stored[0]) if way.search else {}
    expected = x.float() @ weights[0].float().t()
    off = (way.multiply(fed, stored[0], **how).float() - expected).abs().max() / expected.abs().max()
    if not off <= way.bound:
        raise ArithmeticError(f"off by {float(off):.2g} of the largest result")
    while len(stored) * n * k * 2 < COLD:
        w = way.make((n, k))
        stored.append(way.store(pruned(w) if way.prunes else w))
    turn = cycle(stored)
    return lambda: way.multiply(fed, next(turn), **how)


def measured(way, m, k, n):
    params = {"m": m, "k": k, "n": n, "dtype": "bf16"}
    try:
        times = profile(GPU, [partial(prepare, way, m, k, n)], keep=6)[0]
    except Exception as error:
        times = {"error": reason(error)}
    more = {"variant": way.variant} if way.variant else {}
    return function_row("product_forms", params, way.mode, times, **more)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--small", action="store_true", help="one small shape, to try it")
    args = parser.parse_args()
    torch.manual_seed(0)
    shapes = [(32, (256, 512))] if args.small else product(ROWS, WEIGHTS)
    rows = []
    with torch.no_grad():
        for m, (k, n) in shapes:
            here = [measured(way, m, k, n) for way in WAYS]
            rows.extend(here)
            plain = here[0].get("busy_s", float("nan"))
            for row in here:
                time = row.get("busy_s")
                line = f"{time * 1e6:9.1f} µs  {plain / time:5.2f}× plain" if time else row.get("error", "no kernels seen")
                print(f"{m:6}{k:6}{n:6}  {row['mode']:14}{row.get('variant', ''):12}{line}", flush=True)
            write(args.out, METHOD, rows)


if __name__ == "__main__":
    main()
