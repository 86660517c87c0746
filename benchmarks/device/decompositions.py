"""Factorisations and solves of dense matrices, one after the other and in batches -> rows of evidence.

    python benchmarks/device/decompositions.py --out FILE.json

A shape whose call takes longer than LONGEST is kept, and greater ones of its kind are left out. `wall_s` is beside `busy_s` because some of
these calls wait for the host between their kernels.
"""

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import torch
from gpu import GPU, sync, write

from ironlaw.measure.devices.kernel_times import profile, reason
from ironlaw.measure.rows import op_row

SIZES = (3, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
BATCHES = (1, 16, 256, 4096, 65536)
MOST = 1 << 24  # elements of a batch
LONGEST = 0.12  # seconds of a call
TALL = 8  # rows of a tall matrix for each column
METHOD = (
    "GPU kernel, memset and memcpy durations from torch.profiler (CUDA activity only), 1 warm-up and 3 measured calls per row, a marker "
    "kernel before every call; busy_s is the median over calls of the sum of durations. wall_s: one synchronised call on the host's clock. "
    "torch.linalg and ATen functions of a batch of matrices n × n, tall ones 8n × n, with random data made well conditioned: a symmetric "
    "positive definite matrix for Cholesky, eigenvalues and solves. `list` has kernels from a tenth of a call's time."
)


def general(batch, n, dtype, rows=None):
    return torch.randn(batch, rows or n, n, device=GPU.NAME, dtype=dtype)


def definite(batch, n, dtype):
    a = general(batch, n, dtype)
    return a @ a.mT / n + torch.eye(n, device=GPU.NAME, dtype=dtype)


def on(call, make):
    def prepare(batch, n, dtype):
        a = make(batch, n, dtype)
        return lambda: call(a)

    return prepare


def with_sides(call, columns, factor=None, rows=1):
    def prepare(batch, n, dtype):
        a = definite(batch, n, dtype) if rows == 1 else general(batch, n, dtype, rows * n)
        b = torch.randn(batch, rows * n, columns or n, device=GPU.NAME, dtype=dtype)
        if factor is not None:
            a = factor(a)
        return lambda: call(a, b)

    return prepare


lower = torch.linalg.cholesky
SQUARE = 1  # rows for each column
EACH = None  # as many right-hand sides as columns
tall = lambda batch, n, dtype: general(batch, n, dtype, TALL * n)  # noqa: E731
WAYS = {
    ("cholesky", SQUARE, 0): on(torch.linalg.cholesky_ex, definite),
    ("lu", SQUARE, 0): on(torch.linalg.lu_factor_ex, definite),
    ("inverse", SQUARE, 0): on(torch.linalg.inv_ex, definite),
    ("solve", SQUARE, 1): with_sides(torch.linalg.solve_ex, 1),
    ("solve", SQUARE, EACH): with_sides(torch.linalg.solve_ex, None),
    ("triangular", SQUARE, 1): with_sides(lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), 1, lower),
    ("triangular", SQUARE, EACH): with_sides(lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), None, lower),
    ("cholesky_solve", SQUARE, 1): with_sides(lambda a, b: torch.cholesky_solve(b, a), 1, lower),
    ("cholesky_solve", SQUARE, EACH): with_sides(lambda a, b: torch.cholesky_solve(b, a), None, lower),
    ("det", SQUARE, 0): on(torch.linalg.det, definite),
    ("qr", SQUARE, 0): on(torch.linalg.qr, general),
    ("qr", TALL, 0): on(torch.linalg.qr, tall),
    ("eigh", SQUARE, 0): on(torch.linalg.eigh, definite),
    ("eigvalsh", SQUARE, 0): on(torch.linalg.eigvalsh, definite),
    ("svd", SQUARE, 0): on(lambda a: torch.linalg.svd(a, full_matrices=False), general),
    ("svdvals", SQUARE, 0): on(torch.linalg.svdvals, general),
    ("svd", TALL, 0): on(lambda a: torch.linalg.svd(a, full_matrices=False), tall),
    ("lstsq", TALL, 1): with_sides(torch.linalg.lstsq, 1, rows=TALL),
    ("matrix_exp", SQUARE, 0): on(torch.linalg.matrix_exp, lambda b, n, d: definite(b, n, d) / 4),
}
FORMATS = {"fp32": torch.float32, "fp64": torch.float64}
ALSO_FP64 = ("cholesky", "solve", "eigh", "eigvalsh", "svd", "svdvals", "inverse")
LEAST = 0.1  # of a call's time, for a kernel to be listed; the one that finds the R of a batch always is
FINDS_R = "geqr2_batch"


def clocked(prepare, batch, n, dtype):
    """Seconds of the second call, by the host's clock."""
    call = prepare(batch, n, dtype)
    for _ in range(2):
        sync()
        start = time.perf_counter()
        call()
        sync()
        if time.perf_counter() - start > 10 * LONGEST:
            break
    return time.perf_counter() - start


def shapes(prepare, dtype, sizes, until):
    """What is short enough, with its wall time; greater ones than one that is too long are not tried."""
    least = {}
    clocked(prepare, 1, sizes[0], dtype)  # the library is loaded
    for n, batch in product(sizes, BATCHES):
        if batch * n * n > MOST or any(n >= size and batch >= count for size, count in least.items()) or time.monotonic() > until:
            continue
        try:
            wall = clocked(prepare, batch, n, dtype)
        except Exception as error:
            yield batch, n, reason(error)
            continue
        if wall > LONGEST:
            least[n] = min(batch, least.get(n, batch))
        if wall < 4 * LONGEST:
            yield batch, n, wall


def about(way, batch, n, dtype):
    how, tallness, sides = way
    return {"how": how, "matrices": batch, "longer": tallness * n, "shorter": n, "sides": n if sides is EACH else sides, "dtype": dtype}


def thinned(times):
    kept = [each for each in times.get("list", ()) if each["seconds"] >= LEAST * times["busy_s"] or FINDS_R in each["name"]]
    return {**times, "list": kept} if "list" in times else times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--budget", type=float, default=200.0, help="seconds")
    parser.add_argument("--small", action="store_true", help="small shapes, to try it")
    args = parser.parse_args()
    torch.manual_seed(0)
    rows, begin = [], time.monotonic()
    jobs = [(way, "fp32") for way in WAYS] + [(way, "fp64") for way in WAYS if way[0] in ALSO_FP64 and way[1] == SQUARE]
    for done, (way, dtype) in enumerate(jobs, 1):
        prepare, until = WAYS[way], begin + args.budget * done / len(jobs)
        sizes = SIZES[:3] if args.small else SIZES if dtype == "fp32" else SIZES[1::2]
        known = list(shapes(prepare, FORMATS[dtype], sizes, until))
        good = [shape for shape in known if not isinstance(shape[2], str)]
        calls = [partial(prepare, batch, n, FORMATS[dtype]) for batch, n, _ in good]
        times = profile(GPU, calls, warmup=1, iterations=3, keep=6)
        for (batch, n, wall), time_ in zip(good, times, strict=True):
            rows.append(op_row("decompose", about(way, batch, n, dtype), thinned(time_), wall_s=round(wall, 9)))
        rows += [op_row("decompose", about(way, batch, n, dtype), {"error": why}) for batch, n, why in known if isinstance(why, str)]
        write(args.out, METHOD, rows)
        print(f"{way} {dtype}: {len(good)} of {len(known)} shapes, {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
