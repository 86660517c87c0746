"""No calibrated time is below what the machine can do: any op that evidence has, at any size, in any format, on every measured machine."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.backends.evidence_ops import OPS
from ironlaw.engine.device.lower_bound import least, least_arithmetic, least_data, needed, touched, visible
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import IronlawError
from ironlaw.formats import FORMATS
from ironlaw.registry.evidence import evidence

MEASURED = {slug: il.hardware(slug) for slug in il.machines() if slug != "this_machine" and il.hardware(slug).calibration}
H200 = MEASURED["h200_sxm"]
SIZES = ("m", "n", "k", "b", "rows", "cols", "numel", "s", "sq", "sk", "c", "out", "h", "w", "d")


@cache
def rows():
    """Op rows of all evidence, by op: a source of arguments that make sense together."""
    found = {}
    for slug in MEASURED:
        for file in evidence(slug):
            for row in file.rows:
                if row.kind == "op" and not row.error and row.op in OPS:
                    found.setdefault(row.op, []).append(row)
    return found


@st.composite
def ops(draw):
    """An op of the evidence, larger or smaller, in any format."""
    name = draw(st.sampled_from(sorted(rows())))
    row = draw(st.sampled_from(rows()[name]))
    params = dict(row.params)
    for key in SIZES:
        if isinstance(params.get(key), int) and not isinstance(params[key], bool):
            params[key] = max(1, round(params[key] * draw(st.sampled_from((0.1, 0.5, 1, 1, 1, 2, 8)))))
    if "dtype" in params:
        params["dtype"] = draw(st.sampled_from(sorted(FORMATS)))
    try:
        return OPS[name](params)
    except (IronlawError, ZeroDivisionError, KeyError):
        assume(False)


@given(ops(), st.sampled_from(sorted(MEASURED)), st.sampled_from(("eager", "compiled")))
def test_no_calibrated_time_is_below_the_least(one, slug, mode):
    machine = MEASURED[slug]
    try:
        cost = machine.calibration.cost(one, machine, Plan(mode=mode))
        floor = least(one, machine, machine.calibration.cache_bytes)
    except IronlawError:  # a format that the machine has no rate for
        assume(False)
    assert cost.device >= floor * (1 - 1e-9)
    assert cost.floor + max(cost.data, cost.compute) >= floor * (1 - 1e-9)  # data and compute overlapped in full
    sustained = machine.calibration.sustain([cost])[0]
    assert sustained.device >= floor * (1 - 1e-9)


@pytest.mark.parametrize("slug", sorted(MEASURED))
def test_nothing_that_was_measured_is_below_the_least(slug):
    """The bound itself, held against every row: what is counted, cached or skipped is accounted for."""
    machine, field = MEASURED[slug], MEASURED[slug].calibration.library.row_time
    count = 0
    for file in evidence(slug):
        for row in file.rows:
            seconds = getattr(row, field)
            if row.kind == "op" and not row.error and row.op in OPS and seconds:
                floor = least(OPS[row.op](row.params), machine, machine.calibration.cache_bytes)
                assert seconds >= 0.999 * floor, (row.op, row.params)
                count += 1
    assert count > 1000


@pytest.mark.parametrize("fmt", ["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"])
@pytest.mark.parametrize(("kind", "shape"), [("bmm", (64, 2048)), ("bmm", (512, 1024)), ("linear", (1, 8192)), ("linear", (1, 64))])
def test_products_stay_under_the_peak(kind, shape, fmt):
    batch, n = shape
    lead = (batch,) if kind == "bmm" else ()
    weight = Tensor("w", (*lead, n, n), fmt, "activation" if kind == "bmm" else "weight")
    one = op(kind, "product", (Tensor("x", (*lead, n, n), fmt, "input"), weight), (Tensor("y", (*lead, n, n), fmt),))
    p = il.predict(Graph("g", (one,), fmt), H200)
    assert 0 < p.mfu <= 1
    assert p.ops[0].seconds >= 2.0 * batch * n**3 / H200.peak(fmt)


def test_the_products_of_the_review():
    """64 × 2048³ in FP32 takes 16.4 ms at the peak of 67 TFLOP/s; 512 × 1024³ in FP16 runs at most of the H200's rate."""

    def seconds(batch, n, fmt):
        x, w, y = (Tensor(name, (batch, n, n), fmt, "input") for name in "xwy")
        return il.predict(Graph("g", (op("bmm", "b", (x, w), (y,)),), fmt), H200).busy_s

    assert pytest.approx(16.41e-3, rel=1e-3) == 64 * 2 * 2048**3 / 67e12
    assert seconds(64, 2048, "fp32") > 16.41e-3
    assert 1.12e-3 < seconds(512, 1024, "fp16") < 2e-3  # twelve head-sized samples had it at 4.33 ms


def test_a_deep_convolution_stays_above_its_bound():
    for channels in (2048, 8192, 32768):
        x, w = Tensor("x", (64, channels, 16, 16), "fp16", "input"), Tensor("w", (channels, channels, 1, 1), "fp16", "weight")
        one = op("conv2d", "c", (x, w), (Tensor("y", (64, channels, 16, 16), "fp16"),), stride=1)
        assert H200.calibration.cost(one, H200, Plan("compiled")).device >= one.work.matmul_flops / 989e12


# ---- what may be left out, counted by hand


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 4), (3, 7), (7, 3), (1, 9)])
def test_what_a_causal_mask_leaves(queries, keys):
    pairs = sum(1 for i in range(queries) for j in range(keys) if j <= i)
    assert visible(queries, keys) == pytest.approx(pairs / (queries * keys))


@pytest.mark.parametrize("kind", ["attention", "attention_backward"])
def test_a_causal_mask_counts_in_full_and_can_be_skipped(kind):
    q, k = Tensor("q", (2, 8, 128, 64), "fp16", "input"), Tensor("k", (2, 8, 256, 64), "fp16", "input")
    inputs, outputs = ((q, k, k), (q,)) if kind == "attention" else ((q, q, k, k, q), (q, k, k))
    full, causal = (op(kind, "a", inputs, outputs, causal=flag) for flag in (False, True))
    assert causal.work == full.work and needed(full) == full.work
    share = sum(1 for i in range(128) for j in range(256) if j <= i) / (128 * 256)
    assert needed(causal).matmul_flops == pytest.approx(share * full.work.matmul_flops)
    assert needed(causal).flops == pytest.approx(share * full.work.flops)
    assert (needed(causal).read, needed(causal).written) == (full.work.read, full.work.written)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "size"), [(1, 1, 1, 12), (1, 2, 1, 12), (3, 2, 1, 12), (2, 3, 1, 12), (3, 2, 2, 12), (2, 4, 3, 24)]
)
def test_what_a_stride_steps_over(kernel, stride, dilation, size):
    """Every place that a window meets, listed; far from the edges."""
    met = {start + i * dilation for start in range(0, 100 * size, stride) for i in range(kernel)}
    share = len([place for place in range(size * 4, size * 8) if place in met]) / (size * 4)
    x, w, y = Tensor("x", (1, 4, 64, 64)), Tensor("w", (4, 4, kernel, kernel)), Tensor("y", (1, 4, 8, 8))
    square = op("conv2d", "c", (x, w), (y,), stride=stride, dilation=dilation)
    assert touched(square) == pytest.approx(share**2)
    # what is stepped over need not be read; the weight is, and the result is written
    assert needed(square).read == pytest.approx(share**2 * x.bytes + w.bytes) and needed(square).written == y.bytes
    assert (needed(square).flops, needed(square).launches) == (square.work.flops, square.work.launches)
    # the two sides of a kernel apart: down only, across only
    for order in (1, -1):
        sides, steps, apart = ((value, 1)[::order] for value in (kernel, stride, dilation))
        window = Tensor("w", (4, 4, *sides))
        assert touched(op("conv2d", "c", (x, window), (y,), stride=steps, dilation=apart)) == pytest.approx(share)
        for pool in ("max_pool2d", "avg_pool2d"):
            pooled = op(pool, "p", (x,), (y,), kernel=sides, stride=steps, dilation=apart)
            assert touched(pooled) == pytest.approx(share) and needed(pooled).read == pytest.approx(share * x.bytes)


def test_without_a_stride_every_place_is_met():
    x, w = Tensor("x", (1, 4, 64, 64)), Tensor("w", (4, 4, 1, 1))
    plain = op("conv2d", "c", (x, w), (x,))
    assert touched(plain) == 1.0 and needed(plain) == plain.work
    assert touched(op("conv2d", "c", (x, Tensor("w", (4, 4, 2, 2))), (Tensor("y", (1, 4, 32, 32)),), stride=2)) == 1.0


def test_a_product_in_a_format_without_a_rate_runs_in_fp32_s_lanes_at_best():
    """2·512³ operations at the H200's 67 TFLOP/s; with a rate of its own, at that one."""

    def product(fmt):
        x, w, y = (Tensor(name, (512, 512), fmt, "input") for name in "xwy")
        return op("matmul", "p", (x, w), (y,))

    bare = replace(H200, peaks={fmt: rate for fmt, rate in H200.peaks.items() if fmt != "bf16"})
    assert least_arithmetic(product("bf16"), H200) == pytest.approx(2 * 512**3 / H200.peaks["bf16"])
    assert least_arithmetic(product("bf16"), bare) == pytest.approx(2 * 512**3 / bare.vector_peak("bf16"))
    relu = op("relu", "r", (Tensor("x", (512,), "bf16"),), (Tensor("y", (512,), "bf16"),))
    assert least_arithmetic(relu, bare) == pytest.approx(512 / bare.vector_peak("bf16"))


@given(st.integers(1, 10**12), st.integers(0, 10**10))
def test_each_level_passes_on_what_the_one_before_it_can_not_hold(moved, cache):
    """Counted level by level from the machine's own figures; the least of an op asks for the bytes that it needs."""
    lasting = [(float(level.size), float(level.bandwidth)) for level in H200.levels if level.name in ("l1", "l2", "l3", "l4")]
    inner = [0.0, *(size for size, _ in lasting)]
    times = [(moved - held) / bandwidth for held, (_, bandwidth) in zip(inner, lasting, strict=False)]
    assert least_data(moved, H200, cache) == pytest.approx(max(*times, (moved - max(inner[-1], cache)) / 4.8e12))
    relu = op("relu", "r", (Tensor("x", (moved,), "fp16"),), (Tensor("y", (moved,), "fp16"),))
    assert least(relu, H200, cache) == pytest.approx(max(least_data(4 * moved, H200, cache), least_arithmetic(relu, H200)))


def test_data_may_wait_in_a_cache():
    """H200: 60 MiB of L2 at 7 TB/s before 4.8 TB/s of HBM."""
    size = 60 * 2**20
    assert least_data(size, H200) == pytest.approx(size / 7e12)
    assert least_data(100 * size, H200) == pytest.approx(99 * size / 4.8e12)
    both = least_data(np.array([size, 100.0 * size]), H200)
    assert both.tolist() == [least_data(size, H200), least_data(100.0 * size, H200)]
    bare = il.hardware("m3_max")  # no cache is known
    assert least_data(4e9, bare) == pytest.approx(4e9 / 400e9)
    assert math.isclose(least_data(4e9, bare, 1e9), 3e9 / 400e9)
