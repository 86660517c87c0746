"""Samples -> curves: constants that are known because the samples were made from them."""

import math
import random
from itertools import pairwise
from statistics import median

import pytest
from scipy import optimize

import ironlaw as il
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.calibration import fit as fitting
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.fit import Ceiling, ceiling, fit, fit_curve, nelder_mead, slowdown
from ironlaw.errors import BadValue, UnknownName

CACHE = 6e7  # bytes


def law(kernel: Kernel, floor, main=math.inf, rate=math.inf, knee=0.0, row=0.0, step=0.0, p=1, cache=None) -> float:
    """The formula of docs/physics.md, written out once more."""
    share = min(max((kernel.data / CACHE - 0.35) / 1.15, 0.0), 1.0)
    data = kernel.data * ((1 - share) / (cache or main) + share / main)
    compute = kernel.flops / rate * (1 + (knee / kernel.depth if kernel.depth else 0.0))
    terms = (data, compute, kernel.rows * row, kernel.depth * step)
    return floor + sum(t**p for t in terms) ** (1 / p)


def made(kernels, **constants) -> list[Sample]:
    return [Sample(k, law(k, **constants)) for k in kernels]


def steps(low: float, high: float, count: int) -> list[float]:
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


STREAM = [Kernel("add", d) for d in steps(1e3, 1e9, 16)]
STREAM_LAW = {"floor": 2e-6, "main": 4e12, "cache": 9e12}
GEMM = [
    Kernel("gemm", 2.0 * (m * k + k * n + m * n), 2.0 * m * n * k, depth=float(k))
    for m in (16, 512, 8192) for n in (1024, 8192) for k in (64, 512, 4096)
]  # fmt: skip
GEMM_LAW = {"floor": 3e-6, "main": 5e12, "rate": 7e14, "knee": 60.0, "step": 2e-9}
ROWS = [Kernel("softmax", 4.0 * rows * cols, 5.0 * rows * cols, float(rows)) for rows in (16, 1024, 65536) for cols in (32, 1024, 16384)]
ROWS_LAW = {"floor": 2e-6, "main": 3e12, "cache": 6e12, "row": 1e-9}


# ---- constants come back


@pytest.mark.parametrize("p", [1, 2, 4])
def test_a_stream_through_cache_and_main_memory(p):
    curve = fit_curve(made(STREAM, **STREAM_LAW, p=p), CACHE)
    assert (curve.floor, curve.main, curve.cache) == pytest.approx((2e-6, 4e12, 9e12), rel=0.02)
    assert (curve.rate, curve.row, curve.step, curve.knee) == (math.inf, 0.0, 0.0, 0.0)
    assert curve.error < 0.005 and curve.samples == 16


def test_a_matrix_product():
    curve = fit_curve(made(GEMM, **GEMM_LAW, p=2), CACHE)
    assert curve.p == 2
    assert (curve.floor, curve.main, curve.rate, curve.knee) == pytest.approx((3e-6, 5e12, 7e14, 60.0), rel=0.05)
    assert curve.cache == curve.main
    assert curve.error < 0.02


def test_a_row_op():
    curve = fit_curve(made(ROWS, **ROWS_LAW, p=4), CACHE)
    assert curve.p == 4
    assert (curve.floor, curve.main, curve.cache, curve.row) == pytest.approx((2e-6, 3e12, 6e12, 1e-9), rel=0.05)
    assert curve.rate == math.inf


def test_a_kernel_of_fixed_length():
    curve = fit_curve([Sample(Kernel("tiny", 0.0), 1e-6)] * 5, CACHE)
    assert curve.floor == pytest.approx(1e-6, rel=0.001)
    assert (curve.main, curve.cache, curve.rate, curve.samples) == (math.inf, math.inf, math.inf, 5)


def test_noise_and_outliers_do_not_bend_it():
    noise = random.Random(7)
    kernels = [Kernel("add", d) for d in steps(1e6, 1e9, 40)]
    samples = [Sample(k, law(k, **STREAM_LAW) * math.exp(noise.gauss(0, 0.02))) for k in kernels]
    bent = [Sample(s.kernel, s.seconds * (8 if i % 8 == 3 else 1)) for i, s in enumerate(samples)]
    curve = fit_curve(bent, CACHE)
    assert (curve.floor, curve.main, curve.cache) == pytest.approx((2e-6, 4e12, 9e12), rel=0.06)
    assert 0.08 < curve.error < 0.13  # an eighth of the samples off by 7/8


def test_figures_are_kept_to_four_digits():
    curve = fit_curve(made(STREAM, **STREAM_LAW), CACHE)
    assert all(float(f"{v:.4g}") == v for v in (curve.floor, curve.main, curve.cache))
    assert round(curve.error, 4) == curve.error


# ---- what is fitted, from where, and how it is scored


class Asked:
    """Stands in for the search: keeps the loss and the start, and ends where it began."""

    def __init__(self, monkeypatch):
        self.start, self.loss = [], None
        monkeypatch.setattr(fitting, "nelder_mead", self)

    def __call__(self, loss, start):
        self.loss, self.start = loss, [math.exp(v) for v in start]
        return start, loss(start)


@pytest.fixture
def asked(monkeypatch):
    return Asked(monkeypatch)


def test_a_stream_starts_from_the_best_bandwidth_seen(asked):
    fit_curve([Sample(Kernel("add", 1e6), 2e-6), Sample(Kernel("add", 7e7), 1e-5)], CACHE)
    assert asked.start == pytest.approx([1.6e-6, 7e12, 0.1])  # floor, main, how much faster the cache is
    fit_curve([Sample(Kernel("add", 1e6), 2e-6), Sample(Kernel("add", 6e7), 1e-5)], CACHE)
    assert asked.start == pytest.approx([1.6e-6, 1.2e13])  # all within the cache: one bandwidth


def test_a_product_starts_above_the_best_rate_seen(asked):
    group = [Sample(Kernel("gemm", 1e6, 1e9, depth=64.0), 4e-6), Sample(Kernel("gemm", 1e8, 8e9, depth=128.0), 2e-5)]
    curve = fit_curve(group, CACHE)
    assert asked.start == pytest.approx([3.2e-6, 1e13, 4.8e14, 50.0, 0.3 * 4e-6 / 64])  # floor, main, rate, knee, step
    assert curve.cache == curve.main == pytest.approx(1e13)
    # without arithmetic only the steps count
    fit_curve([Sample(Kernel("group_norm", 1e6, depth=64.0), 4e-6)], CACHE)
    assert asked.start == pytest.approx([3.2e-6, 5e11, 0.3 * 4e-6 / 64])


def test_rows_and_attention(asked):
    group = [Sample(Kernel("softmax", 1e6, 1e9, rows=10.0), 4e-6), Sample(Kernel("softmax", 1e6, 1e9), 2e-6)]
    fit_curve(group, CACHE)
    assert asked.start == pytest.approx([1.6e-6, 1e12, 0.3 * 4e-7])  # floor, main, row: arithmetic of rows is hidden
    group = [Sample(Kernel("attention_decode", 1e6, 1e9, rows=10.0), 4e-6)]
    fit_curve(group, CACHE)
    assert asked.start == pytest.approx([3.2e-6, 5e11, 3e14, 1.2e-7])  # floor, main, rate, row
    fit_curve([Sample(Kernel("tiny", 0.0), 4e-6)], CACHE)
    assert asked.start == pytest.approx([3.2e-6])


def test_the_smallest_work_counts(asked):
    fit_curve([Sample(Kernel("gemm", 1.0, 1.0, 1.0, 1.0), 1e-6)], CACHE)
    assert asked.start == pytest.approx([8e-7, 2e6, 1.2e6, 50.0, 3e-7, 3e-7])  # floor, main, rate, knee, step, row


def test_the_loss_is_soft(asked):
    # one sample at the floor, one at twice it: log 2 is seven times the softening
    fit_curve([Sample(Kernel("tiny", 0.0), 1e-6), Sample(Kernel("tiny", 0.0), 2e-6)], CACHE)
    apart = math.sqrt(1 + (math.log(2) / 0.1) ** 2) - 1
    assert asked.loss([math.log(1e-6)]) == pytest.approx(apart / 2)
    assert asked.loss([math.log(2e-6)]) == pytest.approx(apart / 2)
    assert asked.loss([math.log(math.sqrt(2) * 1e-6)]) == pytest.approx(math.sqrt(1 + (math.log(2) / 0.2) ** 2) - 1)


def test_no_term_runs_off(asked):
    fit_curve([Sample(Kernel("gemm", 7e7, 1e9, depth=64.0), 1e-5)], CACHE)
    floor, main, rate, knee, step = (math.log(v) for v in asked.start)
    three, quarter = math.log(3.0), math.log(1.25 / 1.2)  # a rate begins at 1.2 times the best that was seen and ends at 1.25
    assert asked.loss([floor, main + three - 1e-9, rate + quarter - 1e-9, knee, step]) < 1e3
    assert asked.loss([floor, main + three + 1e-9, rate, knee, step]) == 1e9
    assert asked.loss([floor, main, rate + quarter + 1e-9, knee, step]) == 1e9
    assert asked.loss([floor, main, rate, 59.9, step]) < 1e9
    assert asked.loss([floor, main, rate, 60.0, step]) < 1e9
    assert asked.loss([floor, main, rate, 60.1, step]) == 1e9
    assert asked.loss([-59.9, main, rate, knee, step]) < 1e9
    assert asked.loss([-60.0, main, rate, knee, step]) < 1e9
    assert asked.loss([-60.1, main, rate, knee, step]) == 1e9
    fit_curve([Sample(Kernel("add", 7e7), 1e-5)], CACHE)
    floor, main, gain = (math.log(v) for v in asked.start)
    assert asked.loss([floor, main, gain + math.log(30.0) - 1e-9]) < 1e3
    assert asked.loss([floor, main, gain + math.log(30.0) + 1e-9]) == 1e9


def test_no_memory_is_faster_than_the_machine_s_own(asked):
    group, most = [Sample(Kernel("gemm", 7e7, 1e9, depth=64.0), 1e-4)], Ceiling(1e12, 2e12)
    fit_curve(group, CACHE, most)  # 0.7 TB/s was seen
    floor, main, *rest = (math.log(v) for v in asked.start)
    assert math.exp(main) == pytest.approx(1.4e12)
    assert asked.loss([floor, math.log(2e12) - 1e-9, *rest]) < 1e9 == asked.loss([floor, math.log(2e12) + 1e-9, *rest])
    fit_curve([Sample(Kernel("add", 7e7), 1e-4)], CACHE, most)  # beyond the cache: main memory's own
    floor, main, gain = (math.log(v) for v in asked.start)
    assert asked.loss([floor, math.log(1e12) - 1e-9, gain]) < 1e9 == asked.loss([floor, math.log(1e12) + 1e-9, gain])
    fit_curve([Sample(Kernel("add", 7e7), 1e-5)], CACHE, most)  # 7 TB/s was seen: a byte that is read twice counts twice
    floor, main, gain = (math.log(v) for v in asked.start)
    assert asked.loss([floor, math.log(1.25 * 7e12) - 1e-9, gain]) < 1e9 == asked.loss([floor, math.log(1.25 * 7e12) + 1e-9, gain])


@pytest.mark.parametrize("seen", [1e11, 7e11, 1.9e12, 3e12, 5e13])
@pytest.mark.parametrize("data", [6e7, 7e7])
def test_a_search_begins_where_it_may_look(asked, seen, data):
    """Whatever was seen, within the cache or beyond: the first curve that is tried is one that could be kept."""
    fit([Sample(Kernel("add", data), data / seen)] * 3, CACHE, Ceiling(1e12, 2e12))
    assert asked.loss([math.log(value) for value in asked.start]) < 1e3
    # and the ceiling holds for each kind's curve: a little above it, or above what was seen, is not tried
    floor, main, *rest = (math.log(value) for value in asked.start)
    top = max(1e12 if data > CACHE else 2e12, 1.25 * seen)
    assert asked.loss([floor, min(math.log(top), main + math.log(3.0)) + 1e-9, *rest]) == 1e9


def test_a_rate_saturates_near_the_best_that_was_seen():
    """Twelve products of a head's size tell nothing of large ones: the curve must not promise them three times as much."""
    small = [Kernel("bmm", 6.0 * n * n * 12, 24.0 * n**3, depth=float(n)) for n in (32, 48, 64, 80, 96, 128)]
    curve = fit_curve(made(small, floor=3e-6, main=4e12, rate=7e14, knee=400.0), CACHE)
    seen = max(k.flops / law(k, floor=3e-6, main=4e12, rate=7e14, knee=400.0) for k in small)
    assert curve.rate <= 1.251 * seen


def test_the_ceiling_of_a_machine():
    assert ceiling(il.hardware("h200_sxm")) == Ceiling(4.8e12, 7e12)
    assert ceiling(il.hardware("m3_max")) == Ceiling(4e11, math.inf)  # no cache is known


def test_a_cache_is_no_slower_than_what_it_caches():
    # measured the other way round, 1 TB/s within the cache and 2 TB/s beyond: one bandwidth between the two
    group = [Sample(Kernel("add", d), 1e-6 + d / (1e12 if d < CACHE else 2e12)) for d in (1e6, 4e6, 1.6e7, 2e8, 8e8)]
    curve = fit_curve(group, CACHE)
    assert curve.main <= curve.cache < 2e12


def test_a_curves_error_is_the_mean_over_its_samples(asked):
    # it stays at 0.8 x 1 µs: 20% and 60% under
    curve = fit_curve([Sample(Kernel("tiny", 0.0), 1e-6), Sample(Kernel("tiny", 0.0), 2e-6)], CACHE)
    assert (curve.floor, curve.error, curve.samples) == (8e-7, 0.4, 2)
    curve = fit_curve([Sample(Kernel("tiny", 0.0), 1e-6), Sample(Kernel("tiny", 0.0), 3e-6)], CACHE)
    assert curve.error == 0.4667


def test_the_best_overlap_wins():
    for p in (1, 2, 4):
        found = fit_curve(made(ROWS, **ROWS_LAW, p=p), CACHE)
        assert found.p == p


# ---- groups


def test_one_curve_per_kind_and_one_for_all_streams(asked):
    kinds = ["add", "mul", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "power", "neg", "scale", "shift", "hardtanh"]
    kinds += ["copy", "rsqrt"]
    samples = [Sample(Kernel(kind, 1e6), 1e-6) for kind in kinds]
    curves = fit(samples, CACHE)
    assert set(curves) == {"elementwise"}  # none has three samples of its own
    assert curves["elementwise"].samples == 15
    curves = fit(samples * 3 + [Sample(Kernel("softmax", 1e6), 1e-6)] * 3 + [Sample(Kernel("sum", 1e6), 1e-6)] * 2, CACHE)
    assert set(curves) == {*kinds, "softmax", "elementwise"}
    assert list(curves) == sorted(curves)
    assert (curves["softmax"].samples, curves["elementwise"].samples) == (3, 45)


def test_samples_without_time_are_left_out(asked):
    samples = [Sample(Kernel("softmax", 1e6), t) for t in (1e-6, 1e-6, 1e-6, 0.0, -1e-6)]
    assert fit(samples, CACHE)["softmax"].samples == 3


# ---- slowing down, and a whole machine


def test_slowdown_is_the_median_of_long_products():
    curves = {"gemm": Curve(0.0, rate=1e12)}

    def sample(times, curve="gemm", seconds=4e-3):
        return Sample(Kernel(curve, 0.0, 1e12 * seconds), seconds * times)

    assert slowdown([sample(1.1), sample(1.2), sample(1.5)], curves, CACHE) == 1.2
    assert slowdown([sample(0.9), sample(0.8)], curves, CACHE) == 1.0
    assert slowdown([sample(1.5, seconds=1e-3)], curves, CACHE) == 1.0  # short
    assert slowdown([Sample(Kernel("gemm", 0.0, 1e9), 2e-3)], curves, CACHE) == 1.0  # two milliseconds are short
    assert slowdown([Sample(Kernel("gemm", 0.0, 1e9), 2.5e-3)], curves, CACHE) == 2.5
    assert slowdown([sample(1.5, "conv")], {**curves, "conv": curves["gemm"]}, CACHE) == 1.0
    assert slowdown([sample(1.5)], {}, CACHE) == 1.0
    assert slowdown([], curves, CACHE) == 1.0
    assert slowdown([sample(1.123456)], curves, CACHE) == 1.1235


def calibrate(rows, described, sources, machine="h200_sxm"):
    return fitting.calibrate([Row.from_json(row) for row in rows], described, il.hardware(machine), sources)


def launch(name, wall, **more):
    return {"kind": "launch", "op": name, "wall_s": wall, **more}


PLAIN = [launch(name, i + 1.0) for i, name in enumerate(["add", "mul", "relu", "gelu", "silu", "sigmoid", "copy"])]


def test_launch_costs_by_kind(asked):
    rows = [
        *PLAIN,
        *(launch(name, 10.0 + i) for i, name in enumerate(["cast", "add_", "mul_scalar", "pow2", "pad", "transpose_contiguous", "sdpa"])),
        *(launch(name, 20.0 + i) for i, name in enumerate(["copy_", "dropout_train", "where", "adaptive_avg_pool2d", "conv2d", "linear"])),
    ]
    found = calibrate(rows, {"l2_bytes": 100, "host": "a host"}, ("here",))
    assert found.host.launches == {
        "add": 1.0, "mul": 2.0, "relu": 3.0, "gelu": 4.0, "silu": 5.0, "sigmoid": 6.0, "copy": 7.0,
        "cast": 10.0, "scale": 12.0, "shift": 12.0, "power": 13.0, "square": 13.0, "cube": 13.0, "pad": 14.0, "transpose": 15.0,
        "attention": 16.0, "dropout": 21.0, "select": 22.0, "avg_pool2d": 23.0, "conv2d": 24.0, "linear": 25.0,
        "default": 4.0, "elementwise": 4.0,
    }  # fmt: skip
    assert (found.cache_bytes, found.sources, found.host.name, found.scatter) == (100.0, ("here",), "a host", {})
    assert (found.graph_gap, found.host.graph_start, found.slower, found.curves) == (0.0, 4.0, 1.0, {})


@pytest.mark.parametrize("name", [row["op"] for row in PLAIN])
def test_the_default_launch_is_the_median_of_the_plain_ones(name, asked):
    others = [row for row in PLAIN if row["op"] != name]
    found = calibrate([*others, launch(name, 1000.0), launch("matmul", 500.0)], {"l3_bytes": 64.0}, ())
    assert found.host.default == median([row["wall_s"] for row in others] + [1000.0])
    assert (found.cache_bytes, found.host.name) == (64.0, "")


def test_graphs_and_the_gap_between_kernels(asked):
    rows = [
        *PLAIN,
        launch("a", 1.0, graph_s=3.0, busy_s=2.0),
        launch("b", 1.0, graph_s=7.0, busy_s=2.0),
        launch("c", 1.0, graph_s=4.0, busy_s=2.5),
        launch("d", 1.0, graph_s=99.0),
        launch("e", 1.0, busy_s=99.0),
        launch("sync_roundtrip", 42.0),
    ]
    found = calibrate(rows, {"l2_bytes": 100}, ())
    assert (found.graph_gap, found.host.graph_start) == (1.5, 42.0)
    assert calibrate([*PLAIN, launch("a", 1.0, graph_s=1.0, busy_s=2.0)], {"l2_bytes": 100}, ()).graph_gap == 0.0


def test_op_rows_become_curves(asked):
    rows = [{"kind": "op", "op": "relu", "params": {"numel": n, "dtype": "fp16"}, "busy_s": 1e-6} for n in (1000, 2000, 4000)]
    found = calibrate([*PLAIN, *rows], {"l2_bytes": 6e7}, ())
    assert set(found.curves) == {"relu", "elementwise"}
    assert found.curves["relu"].samples == 3


@pytest.mark.parametrize(
    ("machine", "described", "cache", "floor"),
    [
        ("h200_sxm", {"l2_bytes": 6e7, "l3_bytes": 3e8}, 6e7, 1e-6),
        ("h200_sxm", {"l3_bytes": 3e8}, 3e8, 1e-6),
        # a processor's calls are timed from outside
        ("neoverse_n1_2core", {"l2_bytes": 1e6, "l3_bytes": 3e7}, 3e7, 9e-6),
        ("neoverse_n1_2core", {"gpu": "beside it", "l2_bytes": 1e6}, 1e6, 9e-6),
    ],
)
def test_whose_kernels_and_whose_cache(machine, described, cache, floor, asked):
    rows = [
        {"kind": "op", "op": "relu", "params": {"numel": n, "dtype": "fp16"}, "busy_s": 1e-6, "wall_s": 9e-6} for n in (1000, 2000, 4000)
    ]
    found = calibrate([*PLAIN, *rows], described, (), machine)
    assert (found.backend, found.cache_bytes, found.host.entry) == (il.hardware(machine).backend, cache, 0.0)
    assert found.curves["relu"].floor == pytest.approx(floor, rel=0.25)


def test_a_cache_is_needed():
    with pytest.raises(BadValue, match="l2_bytes or l3_bytes"):
        calibrate(PLAIN, {}, ())


def test_a_device_without_a_backend_is_not_fitted():
    """Nothing falls onto another device's path."""
    with pytest.raises(UnknownName, match="rocm"):
        calibrate(PLAIN, {"l2_bytes": 1e6}, (), "mi300x")


def test_long_products_tell_the_power_limit(monkeypatch):
    monkeypatch.setattr(fitting, "fit", lambda samples, cache_bytes, most, like: {"gemm": Curve(cache_bytes)})
    shape = {"m": 64, "n": 64, "k": 64, "dtype": "fp16"}
    rows = [{"kind": "op", "op": "linear", "params": shape, "busy_s": t} for t in (2.4e-3, 3e-3, 3.3e-3)]
    assert calibrate([*PLAIN, *rows], {"l2_bytes": 2e-3}, ()).slower == 1.5


# ---- the search itself, beside scipy's


def rosenbrock(v):
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in pairwise(v))


def bowl(v):
    return sum((i + 1) * (x - i) ** 2 for i, x in enumerate(v))


@pytest.mark.parametrize(
    ("loss", "start"),
    [
        (bowl, [3.0]),
        (bowl, [3.0, -2.0]),
        (bowl, [1.0, 1.0, 1.0, 1.0]),
        (rosenbrock, [-1.2, 1.0]),
        (rosenbrock, [0.0, 0.0, 0.0]),
        (lambda v: abs(v[0] - 1) + abs(v[1] + 2), [0.0, 0.0]),
    ],
)
def test_the_search_finds_what_scipy_finds(loss, start):
    found, value = nelder_mead(loss, start)
    reference = optimize.minimize(loss, start, method="Nelder-Mead", options={"fatol": 1e-9, "xatol": 1e-9, "maxiter": 10_000})
    assert found == pytest.approx(list(reference.x), abs=2e-3)
    assert value == loss(found) <= reference.fun + 1e-6


class Trace:
    """A loss that keeps every point it is asked for."""

    def __init__(self, loss):
        self.loss, self.points = loss, []

    def __call__(self, point):
        self.points.append(tuple(round(v, 9) for v in point))
        return self.loss(point)


def test_the_first_simplex_and_reflection():
    # a slope: down and down again, twice the distance as long as it pays
    trace = Trace(lambda v: v[0] + 2 * v[1])
    nelder_mead(trace, [0.0, 0.0], size=0.4, steps=1)
    # best (0, 0), then (0.4, 0), worst (0, 0.4): reflected through (0.2, 0)
    assert trace.points[:5] == [(0.0, 0.0), (0.4, 0.0), (0.0, 0.4), (0.4, -0.4), (0.6, -0.8)]
    # expanded once; the second, smaller simplex starts there
    assert trace.points[5:8] == [(0.6, -0.8), (0.7, -0.8), (0.6, -0.7)]
    assert len(trace.points) == 10


def simplex(reflected, **more):
    """A loss over the simplex (2, 4), (3, 4), (2, 5) whose worst corner is the last; it reflects to (3, 3)."""
    places = {"outside": (2.75, 3.5), "inside": (2.25, 4.5), "shrunk": (2.5, 4.0)}
    values = {(2.0, 4.0): 0.0, (3.0, 4.0): 2.0, (2.0, 5.0): 3.0, (3.0, 3.0): reflected} | {places[k]: v for k, v in more.items()}
    return Trace(lambda v: values.get(tuple(v), 9.0))


@pytest.mark.parametrize("reflected", [0.0, 1.0])
def test_a_reflection_that_is_neither_best_nor_worst_is_taken(reflected):
    trace = simplex(reflected)
    assert nelder_mead(trace, [2.0, 4.0], size=1.0, steps=1) == ([2.0, 4.0], 0.0)
    assert trace.points[3:5] == [(3.0, 3.0), (2.0, 4.0)]  # no expansion, no contraction: on to the second simplex


@pytest.mark.parametrize(
    ("reflected", "where", "point"),
    [
        (2.0, "outside", (2.75, 3.5)),
        (2.5, "outside", (2.75, 3.5)),
        (3.0, "inside", (2.25, 4.5)),
        (3.5, "inside", (2.25, 4.5)),
    ],
)
def test_a_reflection_among_the_worst_contracts(reflected, where, point):
    for contracted in (1.0, reflected - 0.25, 1.75):
        trace = simplex(reflected, **{where: min(contracted, 2.75)})
        nelder_mead(trace, [2.0, 4.0], size=1.0, steps=1)
        assert trace.points[3:6] == [(3.0, 3.0), point, (2.0, 4.0)]


@pytest.mark.parametrize(("reflected", "contracted"), [(2.5, 2.5), (2.5, 2.75), (3.5, 3.0), (3.5, 3.25)])
def test_a_contraction_that_does_not_pay_shrinks(reflected, contracted):
    where, point = ("outside", (2.75, 3.5)) if reflected < 3.0 else ("inside", (2.25, 4.5))
    trace = simplex(reflected, **{where: contracted, "shrunk": -1.0})
    assert nelder_mead(trace, [2.0, 4.0], size=1.0, steps=1) == ([2.5, 4.0], -1.0)
    assert trace.points[4:8] == [point, (2.5, 4.0), (2.0, 4.5), (2.5, 4.0)]  # halfway to the best, then the second simplex


def test_it_stops_when_all_points_are_alike():
    trace = Trace(lambda v: 1.0)
    assert nelder_mead(trace, [0.0, 0.0]) == ([0.0, 0.0], 1.0)
    assert len(trace.points) == 6  # two simplices, not one step
    trace = Trace(lambda v: 1.0 + 1e-8 * v[0])
    nelder_mead(trace, [0.0], size=1.0)
    assert len(trace.points) == 4
    trace = Trace(lambda v: 1.0 + 1e-6 * v[0])
    nelder_mead(trace, [0.0], size=1.0, steps=1)
    assert len(trace.points) > 4
    trace = Trace(lambda v: 1e-7 if v[0] else 0.0)  # just apart
    nelder_mead(trace, [0.0], size=1.0, steps=1)
    assert len(trace.points) > 4


def test_by_default_it_takes_400_steps_from_two_fifths():
    trace = Trace(lambda v: v[0])  # falls for ever: each step reflects and expands; the second simplex is lost in rounding
    nelder_mead(trace, [0.0])
    assert trace.points[:4] == [(0.0,), (0.4,), (-0.4,), (-0.8,)]
    assert len(trace.points) == 2 + 2 * 400 + 2
