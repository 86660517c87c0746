"""A line behaves as the array of its points, and stays two numbers for as long as it can."""

import operator

import numpy as np
import pytest

from ironlaw.engine.device.sweep import Line, points

BASE = np.array([1.0, 2.0, 5.0])
OTHER = np.array([3.0, 4.0, 6.0])
LINE = Line(BASE, 2.0, 3.0)
POINTS = np.array([5.0, 7.0, 13.0])  # 2x + 3
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)
COMPARING = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
OPERANDS = (4, 2.5, 7.0, OTHER, Line(BASE, 3.0, 1.0), Line(OTHER, 2.0))


def test_its_points():
    assert LINE.points.tolist() == POINTS.tolist()
    assert Line(BASE).points.tolist() == [1.0, 2.0, 5.0]
    assert Line(BASE, 4.0).points.tolist() == [4.0, 8.0, 20.0]


@pytest.mark.parametrize("other", OPERANDS, ids=str)
@pytest.mark.parametrize("do", (*ARITHMETIC, *COMPARING), ids=lambda do: do.__name__)
def test_every_operator_does_as_the_array_does(do, other):
    assert np.asarray(do(LINE, other)) == pytest.approx(do(POINTS, points(other)))
    assert np.asarray(do(other, LINE)) == pytest.approx(do(points(other), POINTS))


def test_signs():
    assert np.asarray(-LINE).tolist() == [-5.0, -7.0, -13.0]
    assert abs(-LINE).tolist() == [5.0, 7.0, 13.0]


@pytest.mark.parametrize(
    ("found", "slope", "offset"),
    [
        (LINE + 4, 2.0, 7.0), (4 + LINE, 2.0, 7.0), (LINE - 4, 2.0, -1.0), (4 - LINE, -2.0, 1.0), (LINE * 4, 8.0, 12.0),
        (4 * LINE, 8.0, 12.0), (LINE / 4, 0.5, 0.75), (-LINE, -2.0, -3.0), (LINE + Line(BASE, 3.0, 1.0), 5.0, 4.0),
        (LINE - Line(BASE, 3.0, 1.0), -1.0, 2.0), (sum([LINE, LINE]), 4.0, 6.0),
    ],
)  # fmt: skip
def test_a_straight_line_stays_one(found, slope, offset):
    assert isinstance(found, Line)
    assert found.base is BASE
    assert (found.slope, found.offset) == (slope, offset)


@pytest.mark.parametrize("found", [LINE + Line(OTHER), LINE * LINE, LINE + OTHER, LINE * OTHER, LINE / OTHER, 1 / LINE, OTHER * LINE])
def test_what_is_not_straight_is_written_out(found):
    assert isinstance(found, np.ndarray)


def test_numpy_takes_it_for_an_array():
    assert np.maximum(LINE, 6.0).tolist() == [6.0, 7.0, 13.0]
    assert np.where([True, False, True], LINE, 0.0).tolist() == [5.0, 0.0, 13.0]
    assert np.asarray(LINE, dtype=int).dtype == int
    held = np.ones(3)
    held += LINE
    assert held.tolist() == [6.0, 8.0, 14.0]
    assert np.add.reduce(LINE) == 25.0
    assert np.maximum(LINE, 6.0, out=held) is held
    assert np.array(LINE).tolist() == np.asarray(LINE).tolist() == [5.0, 7.0, 13.0]
    assert np.asarray(LINE, dtype=int).tolist() == [5, 7, 13]
    assert not hasattr(LINE, "__array_interface__")  # it would point into memory that nobody holds
    assert (LINE.shape, len(LINE), LINE[1], LINE.max(), list(LINE)) == ((3,), 3, 7.0, 13.0, [5.0, 7.0, 13.0])
    assert repr(LINE) == repr(POINTS)


def test_whole_sizes_stay_whole():
    whole = Line(np.array([1, 2]), 3)
    assert whole.points.dtype == np.asarray(whole).dtype == int
    assert LINE.__array__(np.float32).dtype == np.float32


def test_it_is_no_key_and_has_no_inner_workings_of_an_array():
    with pytest.raises(TypeError, match="unhashable"):
        hash(LINE + 1)
    with pytest.raises(AttributeError, match=r"^__array_interface__$"):
        LINE.__array_interface__  # noqa: B018  asked for, not used


def test_points_of_anything_else():
    assert points(4.0) == 4.0
    assert points(OTHER) is OTHER
