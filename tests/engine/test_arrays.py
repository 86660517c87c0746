"""Floats stay floats; arrays agree with NumPy."""

import subprocess
import sys

import numpy as np
import pytest

from ironlaw.engine import arrays

POINTS = np.array([-2.5, 0.0, 1.0, 7.25])
OTHERS = np.array([3.0, -1.0, 1.0, 8.0])


@pytest.mark.parametrize(("a", "b", "least", "most"), [(1.0, 2.0, 1.0, 2.0), (5, 3, 3, 5), (-1.0, -4, -4, -1.0), (2.0, 2.0, 2.0, 2.0)])
def test_minimum_and_maximum_of_floats(a, b, least, most):
    assert arrays.minimum(a, b) == least
    assert arrays.maximum(a, b) == most
    assert type(arrays.minimum(a, b)) in (int, float)
    assert type(arrays.maximum(a, b)) in (int, float)


@pytest.mark.parametrize(("a", "b"), [(POINTS, OTHERS), (POINTS, 0.5), (0.5, POINTS)])
def test_minimum_and_maximum_of_arrays(a, b):
    points, others = np.broadcast_arrays(a, b)
    assert arrays.minimum(a, b).tolist() == [min(p, o) for p, o in zip(points, others, strict=True)]
    assert arrays.maximum(a, b).tolist() == [max(p, o) for p, o in zip(points, others, strict=True)]


def test_ratio():
    assert (arrays.ratio(6.0, 3), arrays.ratio(6, 0.0), arrays.ratio(0.0, 0)) == (2.0, float("inf"), 0.0)
    with np.errstate(all="raise"):  # nothing is divided by nothing on the way
        found = arrays.ratio(np.array([6.0, 0.5, 0.0, 0.0]), np.array([3.0, 0.0, 0.0, 1.0]))
        assert found.tolist() == [2.0, float("inf"), 0.0, 0.0]
        assert arrays.ratio(6.0, np.array([3.0, 0.0])).tolist() == [2.0, float("inf")]


def test_where():
    assert arrays.where(True, 1.0, 2.0) == 1.0
    assert arrays.where(False, 1.0, 2.0) == 2.0
    assert arrays.where(0, "yes", "no") == "no"
    assert arrays.where(POINTS > 0, POINTS, -1.0).tolist() == [-1.0, -1.0, 1.0, 7.25]


def test_ceil_and_log2():
    assert arrays.ceil(2.1) == 3.0
    assert type(arrays.ceil(3)) is float
    assert arrays.ceil(POINTS).tolist() == [-2.0, 0.0, 1.0, 8.0]
    assert arrays.log2(8) == 3.0
    assert type(arrays.log2(8.0)) is float
    assert arrays.log2(np.array([1.0, 2.0, 1024.0])).tolist() == [0.0, 1.0, 10.0]


def test_largest_and_smallest():
    assert arrays.largest(3) == 3.0
    assert type(arrays.largest(3)) is float
    assert type(arrays.smallest(3)) is float
    assert arrays.smallest(-2) == -2.0
    assert arrays.largest(POINTS) == 7.25
    assert arrays.smallest(POINTS) == -2.5
    assert type(arrays.largest(POINTS)) is float
    assert type(arrays.smallest(POINTS)) is float


def test_total_is_the_sum():
    assert arrays.total([]) == 0.0
    assert type(arrays.total([1, 2.5])) is float
    assert arrays.total([1, 2.5, -0.5]) == 3.0
    assert arrays.total(x for x in (1.0, 2.0)) == 3.0
    assert arrays.total([POINTS, OTHERS]).tolist() == [0.5, -1.0, 2.0, 15.25]
    assert arrays.total([1.0, POINTS, 2, OTHERS]).tolist() == [3.5, 2.0, 5.0, 18.25]
    assert arrays.total([0.0, POINTS]) is POINTS  # nothing to add, nothing to touch
    assert arrays.total([POINTS, 1.0]).tolist() == [-1.5, 1.0, 2.0, 8.25]
    assert POINTS.tolist() == [-2.5, 0.0, 1.0, 7.25]


def test_is_array():
    assert not arrays.is_array(1.0, 2)
    assert not arrays.is_array()
    assert arrays.is_array(1.0, POINTS)
    assert arrays.is_array(POINTS, 1.0)


@pytest.mark.parametrize(
    ("value", "answer"),
    [(1, True), (0.5, True), (0, False), (0.0, False), (-1.0, False), (np.array([0.5, 2.0]), True), (np.array([0.0, 2.0]), False)],
)
def test_is_positive(value, answer):
    assert arrays.is_positive(value) is answer


XS, YS = (1.0, 2.0, 4.0, 8.0), (10.0, 20.0, 0.0, 5.0)


@pytest.mark.parametrize("x", [-3.0, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0, 3.5, 4.0, 5.0, 7.9, 8.0, 9.0, 100])
def test_interpolation_agrees_with_numpy(x):
    assert arrays.interpolate(x, XS, YS) == pytest.approx(float(np.interp(x, XS, YS)), abs=1e-12)
    assert type(arrays.interpolate(x, XS, YS)) is float


def test_interpolation_by_hand_and_over_arrays():
    assert arrays.interpolate(3.0, XS, YS) == 10.0  # halfway down from 20 to 0
    assert arrays.interpolate(5.0, XS, YS) == 1.25  # a quarter of the way up from 0 to 5
    assert arrays.interpolate(np.array([0.0, 3.0, 5.0, 9.0]), XS, YS).tolist() == [10.0, 10.0, 1.25, 5.0]
    assert arrays.interpolate(2.0, (2.0,), (7.0,)) == 7.0


def test_floats_never_import_numpy():
    # through the file itself: the package's front door is not what is asked about here
    code = (
        "import importlib.util as u, sys; spec = u.spec_from_file_location('a', sys.argv[1]); a = u.module_from_spec(spec);"
        "spec.loader.exec_module(a); a.maximum(1.0, 2); a.minimum(1.0, 2); a.where(True, 1, 2); a.ceil(1.5); a.log2(8.0); a.largest(1.0);"
        "a.smallest(1.0); a.interpolate(1.5, (1.0, 2.0), (3.0, 4.0)); a.is_array(1.0); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, arrays.__file__], check=False).returncode == 0
