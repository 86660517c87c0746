"""Floats stay floats and agree with NumPy; an array is treated point by point."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine import arrays

POINTS = np.array([-2.5, 0.0, 1.0, 7.25])
finite = st.floats(-1e9, 1e9) | st.integers(-20, 20)
pairs = st.lists(st.tuples(finite, finite), min_size=1, max_size=6)
some = st.lists(finite, min_size=1, max_size=6)


@pytest.mark.parametrize(("ours", "theirs"), [(arrays.minimum, np.minimum), (arrays.maximum, np.maximum)])
@given(pairs)
def test_minimum_and_maximum(ours, theirs, points):
    a, b = np.array(points, dtype=float).T
    for x, y in points:
        assert ours(x, y) == theirs(x, y) and isinstance(ours(x, y), (int, float))
    assert np.array_equal(ours(a, b), theirs(a, b))
    assert np.array_equal(ours(a, 0.5), theirs(a, 0.5)) and np.array_equal(ours(0.5, a), theirs(0.5, a))


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(1e-9, 1e9) | st.just(0.0)), min_size=1, max_size=6))
def test_a_ratio_times_its_divisor_is_the_dividend_and_nothing_over_nothing_is_nothing(points):
    with np.errstate(all="raise", under="ignore"):  # nothing is divided by nothing on the way
        ratios = arrays.ratio(*np.array(points).T)
        last = arrays.ratio(1.0, np.array([b for _, b in points]))
    for (a, b), r, over_one in zip(points, ratios, last, strict=True):
        alone = arrays.ratio(a, b)
        assert r == alone and isinstance(alone, float) and over_one == arrays.ratio(1.0, b)
        assert alone == pytest.approx(a / b) if b else alone == (float("inf") if a else 0.0)


@given(pairs)
def test_where(points):
    a, b = np.array(points, dtype=float).T
    assert arrays.where(a > 0, a, b).tolist() == [arrays.where(bool(x > 0), x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert (arrays.where(True, "yes", "no"), arrays.where(0, "yes", "no")) == ("yes", "no")


@given(some)
def test_the_least_whole_number_and_the_ends(values):
    points = np.array(values, dtype=float)
    for x in values:
        up = arrays.ceil(x)
        assert type(up) is float and up.is_integer() and up - 1 < x <= up
        assert type(arrays.largest(x)) is type(arrays.smallest(x)) is float and arrays.largest(x) == arrays.smallest(x) == x
    assert arrays.ceil(points).tolist() == [arrays.ceil(x) for x in values]
    assert (arrays.largest(points), arrays.smallest(points)) == (max(values), min(values))
    assert type(arrays.largest(points)) is type(arrays.smallest(points)) is float


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=6))
def test_two_to_the_logarithm_is_the_number(values):
    for x in values:
        assert type(arrays.log2(x)) is float and 2.0 ** arrays.log2(x) == pytest.approx(x)
    assert arrays.log2(np.array(values)).tolist() == pytest.approx([arrays.log2(x) for x in values])


@given(st.lists(finite | st.lists(finite, min_size=3, max_size=3), max_size=6))
def test_total_is_the_sum_of_numbers_and_arrays_in_any_order(values):
    held = [np.array(v, dtype=float) if isinstance(v, list) else v for v in values]
    before = [np.array(v) for v in held]
    result = arrays.total(iter(held))
    assert np.asarray(result) == pytest.approx(sum(before, np.zeros(3) if any(np.ndim(v) for v in before) else 0.0), rel=1e-12, abs=1e-6)
    assert isinstance(result, float) != any(np.ndim(v) for v in before)
    assert all(np.array_equal(a, b) for a, b in zip(held, before, strict=True))  # nothing is added in place


def test_nothing_to_add_is_nothing_to_touch():
    assert arrays.total([0.0, POINTS]) is POINTS


def test_is_array():
    assert not arrays.is_array(1.0, 2)
    assert not arrays.is_array()
    assert arrays.is_array(1.0, POINTS)
    assert arrays.is_array(POINTS, 1.0)


@given(some)
def test_positive_is_above_zero_everywhere(values):
    assert arrays.is_positive(np.array(values, dtype=float)) is all(arrays.is_positive(x) for x in values)
    for x in values:
        assert arrays.is_positive(x) is bool(x > 0)


@given(st.lists(st.tuples(st.integers(0, 40), st.floats(-10, 10)), min_size=1, max_size=6, unique_by=lambda p: p[0]), some, st.data())
def test_interpolation_agrees_with_numpy(knots, outside, data):
    xs, ys = zip(*sorted((float(x), y) for x, y in knots), strict=True)
    inside = data.draw(st.lists(st.floats(0, 40), max_size=4))
    for x in (*xs, *inside, *outside):
        assert arrays.interpolate(x, xs, ys) == pytest.approx(float(np.interp(x, xs, ys)), abs=1e-12)
        assert type(arrays.interpolate(x, xs, ys)) is float
    assert arrays.interpolate(np.array(outside, dtype=float), xs, ys).tolist() == np.interp(outside, xs, ys).tolist()


def test_a_number_without_axes_is_a_plain_one():
    assert [type(arrays.plain(v)) for v in (np.float64(2.5), np.array(2.5), 2.5, 2)] == [float, float, float, int]
    assert arrays.plain(POINTS) is POINTS


def test_floats_never_import_numpy():
    # through the file itself: the package's front door is not what is asked about here
    code = (
        "import importlib.util as u, sys; spec = u.spec_from_file_location('a', sys.argv[1]); a = u.module_from_spec(spec);"
        "spec.loader.exec_module(a); a.maximum(1.0, 2); a.minimum(1.0, 2); a.where(True, 1, 2); a.ceil(1.5); a.log2(8.0); a.largest(1.0);"
        "a.smallest(1.0); a.interpolate(1.5, (1.0, 2.0), (3.0, 4.0)); a.is_array(1.0); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, arrays.__file__], check=False).returncode == 0
