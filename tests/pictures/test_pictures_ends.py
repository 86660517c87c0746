"""Axes end at round figures: a property of every end, by hand for some."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ironlaw.pictures.ends import decades, doubled_to, down_to, fitted, snug, up_to

SIZES = some.floats(1e-12, 1e18)


@given(SIZES)
def test_a_round_end_holds_its_value_and_is_near(high):
    end = up_to(high)
    assert high * (1 - 1e-9) <= end <= 4 / 3 * high * (1 + 1e-9)
    assert min(abs(end / 10 ** math.floor(math.log10(end) + 1e-9) - digit) for digit in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)) < 1e-6


@given(SIZES)
def test_a_round_start_is_near_and_not_above(low):
    assert 3 / 4 * low * (1 - 1e-9) <= down_to(low) <= low * (1 + 1e-9)
    assert snug(low, 2 * low) == (down_to(low), up_to(2 * low))


@given(SIZES, SIZES)
def test_decades_hold_both(one, other):
    low, high = decades(min(one, other), max(one, other))
    assert low <= min(one, other) * (1 + 1e-6) and max(one, other) <= high * (1 + 1e-6)
    assert min(one, other) / low < 10.001 and high / max(one, other) < 10.001


@given(some.lists(SIZES, min_size=1, max_size=4))
def test_a_fitted_axis_holds_its_values_and_is_filled_by_them_or_half_a_decade(values):
    low, high = fitted(values)
    assert low <= min(values) * (1 + 1e-6) and max(values) <= high * (1 + 1e-6)
    assert high / low < 5.7 or math.log(max(values) / min(values)) >= 0.6 * math.log(high / low) - 1e-6
    assert high / low > 3.1  # what hardly changes looks level
    ends = (min(values) * 2, min(values) * 20)
    assert ends[0] * (1 - 1e-9) <= fitted(values, ends)[0] < fitted(values, ends)[1] <= ends[1] * (1 + 1e-9)


@pytest.mark.parametrize(("high", "end"), [(1.0, 1.0), (1.1, 1.2), (3.1, 4.0), (51e9, 6e10), (9.0, 10.0), (0.002, 0.002), (0, 1.0)])
def test_by_hand(high, end):
    assert up_to(high) == pytest.approx(end)
    assert doubled_to(100.0, [20.0]) == doubled_to(100.0, [100.0]) == 100.0 and doubled_to(100.0, [350.0]) == 400.0
    assert decades(0.3, 250.0) == pytest.approx((0.1, 1000.0)) and decades(0.1, 1000.0) == pytest.approx((0.1, 1000.0))
