"""What curves and rules leave unexplained of a row, and how neighbours enter an op's cost: on a machine whose curves are given by hand."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import signature
from ironlaw.calibration import fit as fitting
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.learn import FEWEST
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.neighbours import Family
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.lower_bound import least_arithmetic
from ironlaw.engine.device.machine import Plan

H200 = il.hardware("h200_sxm")
EAGER = Plan(mode="eager")
LAUNCHES = {"default": 1e-6}
# a stream of b bytes takes 1 µs + b / 1 TB/s
PLAIN = Calibration({"elementwise": Curve(1e-6, main=1e12, cache=1e12)}, Host(LAUNCHES), 6e7)


def row(numel, busy, **more):
    return Row(**{"kind": "op", "op": "relu", "params": {"numel": numel, "dtype": "fp16"}, "busy_s": busy} | more)


@given(st.integers(8, 10**8), st.floats(0.2, 5.0), st.integers(0, 4))
def test_a_residual_is_the_logarithm_of_measured_over_curve_and_the_kernels_beyond_the_rules(numel, times, more):
    by_hand = 1e-6 + 4.0 * numel / 1e12  # each element is read and written
    (found,) = fitting.residuals([row(numel, times * by_hand, kernels=1.0 + more)], PLAIN, H200)
    assert found.time == pytest.approx(math.log(times))
    assert found.kernels == more
    assert found.signature == signature(OPS["relu"]({"numel": numel, "dtype": "fp16"}))


def test_rows_that_say_nothing_of_one_op_leave_nothing():
    (found,) = fitting.residuals([row(64, 2e-6)], PLAIN, H200)
    assert found.kernels == 0.0  # nobody counted them
    without = [
        row(64, 0.0), row(64, None), row(64, 1e-6, kind="launch"), row(64, 1e-6, error="out of memory"), row(64, 1e-6, op="nonsense"),
        row(64, 1e-6, op="cumsum", params={"rows": 8, "cols": 8, "dtype": "fp16"}),  # not compared with neighbours
    ]  # fmt: skip
    assert list(fitting.residuals(without, PLAIN, H200)) == []


def test_a_fit_keeps_the_families_of_its_rows(monkeypatch):
    monkeypatch.setattr(fitting, "nelder_mead", lambda loss, start: (start, loss(start)))
    launch = [Row(kind="launch", op=name, wall_s=1e-6) for name in ("add", "mul", "relu", "gelu", "silu", "sigmoid", "copy")]
    rows = [row(8 << i, (8 << i) * 1e-9) for i in range(FEWEST)]
    fitted = fitting.calibrate([*launch, *rows], {"l2_bytes": 6e7}, H200, ())
    assert set(fitted.families) == {"relu 16 bit"} and len(fitted.families["relu 16 bit"].places) == FEWEST
    assert fitting.calibrate([*launch, *rows[1:]], {"l2_bytes": 6e7}, H200, ()).families == {}


# ---- what neighbours do to a cost


def beside(factor=1.0, kernels=0.0, sizes=(16,)):
    """The plain machine with one row of a ReLU, `factor` times as slow as its curve."""
    family = Family((1.0, 1.0), 1e-6, 1.0, 1.0, tuple((float(math.log2(size)), 0.0) for size in sizes), (math.log(factor),) * len(sizes),
                    (kernels,) * len(sizes))  # fmt: skip
    return replace(PLAIN, families={"relu 16 bit": family})


@given(st.floats(0.5, 4.0), st.integers(-3, 3))
def test_on_a_row_the_time_is_the_row_s_and_so_are_the_kernels(factor, kernels):
    relu = OPS["relu"]({"numel": 1 << 20, "dtype": "fp16"})
    alone, near = (c.fitted_cost(relu, H200, EAGER) for c in (PLAIN, beside(factor, kernels, (1 << 20,))))
    for term in ("data", "compute", "floor", "joint", "device"):
        assert getattr(near, term) == pytest.approx(factor * getattr(alone, term), rel=1e-5)
    assert near.kernels == max(alone.kernels + kernels, 1.0)  # at least one kernel runs


def test_only_ops_of_a_family_have_neighbours():
    relu, gelu = (OPS[name]({"numel": 1 << 20, "dtype": "fp16"}) for name in ("relu", "gelu"))
    found = beside(2.0, sizes=(1 << 20,))
    assert found.correction(relu, "eager").factor == pytest.approx(2.0, rel=1e-5)
    assert found.correction(gelu, "eager") is None is found.correction(relu, "compiled") is PLAIN.correction(relu, "eager")


# ---- and never below what the machine can do


@given(st.sampled_from((16, 256, 2048)), st.floats(1e9, 1e20))
def test_each_term_of_a_cost_is_at_least_the_machine_s_own(n, rate):
    """A curve that promises any rate: what it says of data and of arithmetic is lifted, each to its own least."""
    product = OPS["linear"]({"m": n, "n": n, "k": n, "dtype": "fp16"})
    found = replace(PLAIN, curves={"gemm": Curve(0.0, main=rate, cache=rate, rate=rate)})
    raw, cost = found.fitted_cost(product, H200, EAGER), found.cost(product, H200, EAGER)
    moved = 3 * 2.0 * n * n  # all of it crosses the L2
    assert cost.compute == pytest.approx(max(raw.compute, 2.0 * n**3 / 989.4e12 - raw.floor), rel=2e-3)
    assert cost.compute == pytest.approx(max(raw.compute, least_arithmetic(product, H200) - raw.floor))
    assert cost.data >= max(raw.data, moved / 7e12 - raw.floor) * (1 - 1e-9)
    assert cost.device >= cost.floor + max(cost.data, cost.compute) * (1 - 1e-9)


def test_bytes_beyond_the_measured_cache_cross_main_memory():
    """The cache as it was measured counts where it is larger than the datasheet's."""
    relu = OPS["relu"]({"numel": 10**9, "dtype": "fp16"})
    quick = {"elementwise": Curve(0.0, main=1e20, cache=1e20)}
    for cache in (1.0, 1e9):
        cost = replace(PLAIN, curves=quick, cache_bytes=cache).cost(relu, H200, EAGER)
        assert cost.data == pytest.approx(max((4e9 - max(cache, 60 * 2**20)) / 4.8e12, 4e9 / 7e12))
