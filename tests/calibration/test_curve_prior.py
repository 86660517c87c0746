"""Few samples move a curve that is known; many make one of their own."""

import math

import pytest

import ironlaw as il
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.curve_prior import prior
from ironlaw.calibration.fit import ENOUGH, Ceiling, fit, plainly

CACHE, MOST = 5e7, Ceiling(4e12, 8e12)
LIKE = {"conv_1x1_nhwc": "conv_1x1"}
TRUE = {"gemm": Curve(2e-6, 4e12, 4e12, rate=7e14, knee=100.0), "conv_1x1_nhwc": Curve(2e-6, 4e12, 4e12, rate=6e14, knee=100.0)}


def product(name, side, slower=1.0):
    kernel = Kernel(name, data=6.0 * side**2, flops=2.0 * side**3, depth=float(side))
    return Sample(kernel, slower * TRUE[name].terms(kernel, CACHE)[2])


MANY = [product("gemm", 2**n) for n in range(5, 13)] + [product("gemm", 3 * 2**n) for n in range(5, 11)]
LARGE = product("conv_1x1_nhwc", 8192)


def said(curves, sample):
    return curves[sample.kernel.curve].terms(sample.kernel, CACHE)[2] / sample.seconds


def test_three_small_products_say_nothing_of_a_large_one_and_another_kind_does():
    few = [product("conv_1x1_nhwc", side) for side in (64, 96, 128)]
    alone, drawn = fit([*MANY, *few], CACHE, MOST), fit([*MANY, *few], CACHE, MOST, LIKE)
    assert said(alone, LARGE) > 3.0  # no faster than the best that was seen of it
    assert said(drawn, LARGE) == pytest.approx(1.0, abs=0.25)
    assert all(said(drawn, one) == pytest.approx(1.0, abs=0.15) for one in few)


def test_one_sample_is_enough_where_another_kind_is_known():
    (slow,) = few = [product("conv_1x1_nhwc", 8192, slower=1.5)]
    assert "conv_1x1_nhwc" not in fit([*MANY, *few], CACHE, MOST) and ENOUGH > 1
    curves = fit([*MANY, *few], CACHE, MOST, LIKE)
    assert 1.0 < said(curves, LARGE) < 1.5 and curves["conv_1x1_nhwc"].sd > 0.3
    assert said(curves, slow) < 1.0


def test_many_samples_make_the_curve_that_they_always_made():
    own = [product("conv_1x1_nhwc", 2**n) for n in range(5, 13)] + [product("conv_1x1_nhwc", 3 * 2**n) for n in range(5, 11)]
    assert fit(own, CACHE, MOST, LIKE) == fit(own, CACHE, MOST)


def test_an_odd_sample_among_few_does_not_rule():
    few = [product("conv_1x1_nhwc", side) for side in (512, 1024, 2048)]
    odd = [*few, product("conv_1x1_nhwc", 256, slower=20.0)]
    assert said(fit([*MANY, *odd], CACHE, MOST, LIKE), LARGE) == pytest.approx(1.0, abs=0.3)


def test_a_kernel_like_no_other_goes_by_its_samples():
    """A launch as long as its inner loop, a hundred times what a plain product takes."""
    steps = [Sample(Kernel("conv_line_groups", 6e5, 1e7 * n, depth=6144.0), 7e-4) for n in (1, 16)]
    curves = fit([*MANY, *steps], CACHE, MOST, {})
    assert all(said(curves, one) == pytest.approx(1.0, abs=0.3) for one in steps)


@pytest.mark.parametrize(
    ("name", "other", "near"),
    [
        ("conv_1x1_nhwc", "gemm", False),
        ("conv_few_tf32", "gemm_tf32", False),
        ("scan_rows", "elementwise", False),
        ("solver_eigh", None, False),
    ],
)
def test_whose_constants_are_known_beforehand(name, other, near):
    curves = {one: Curve(float(i + 1)) for i, one in enumerate(("gemm", "gemm_tf32", "elementwise"))}
    known = prior(name, 4e12, LIKE, curves)
    assert (known.alike, known.near and known.alike is not None) == (curves.get(other), near)
    assert prior(name, 4e12, {name: "gemm"}, curves).near


def test_where_nothing_is_known_the_memory_is():
    known = prior("solver_eigh", 4e12, {}, {})
    assert known.constants(["main", "step"], [1e9, 2e-6]) == [(math.log(4e12), 1.0), (math.log(2e-6), 1.5)]


def test_rows_of_one_kernel_speak_for_a_kind_that_no_other_row_holds():
    """Of a convolution of a line in groups, sixteen launches; evidence of other convolutions gives no sample of it."""
    h200 = il.hardware("h200_sxm")
    library = h200.calibration.library
    params = dict(n=1, c=768, length=49, out=768, k=128, stride=1, pad=64, groups=16, dtype="fp16")
    row = Row(kind="op", op="conv1d", params=params, busy_s=16e-4, kernels=16)
    assert not list(library.samples([row], h200))
    (sample,) = plainly([row], library, h200, ())
    assert (sample.kernel.curve, sample.seconds, sample.kernel.count) == ("conv_line_groups", pytest.approx(1e-4), 1.0)
    assert not list(plainly([row], library, h200, {"conv_line_groups"}))


def test_two_samples_of_a_kernel_like_no_other_are_a_curve_that_is_unsure():
    """Both are of the same rate; one between them takes what it must, and none is sure beyond what it was drawn to."""
    two = [Sample(Kernel("solver_qr", 1e4 * n, 1e6 * n, depth=float(n)), 1e-6 * n) for n in (4, 64)]
    (curve,) = (fit(two, CACHE, MOST, {})["solver_qr"],)
    between = Kernel("solver_qr", 1.6e5, 1.6e7, depth=16.0)
    assert curve.terms(between, CACHE)[2] == pytest.approx(16e-6, rel=0.35) and curve.sd > 0.8
    assert "solver_qr" not in fit(two[:1], CACHE, MOST, {})
