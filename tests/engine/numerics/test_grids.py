"""Grids of few bits: hand values, SciPy, Max's table of 1960, and rounding numbers that were drawn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from ironlaw.engine.numerics.clipping import best_gaussian_bound, best_gaussian_step, gaussian_noise
from ironlaw.engine.numerics.decay import decay
from ironlaw.engine.numerics.grids import factor_per_bit, levels, noise_power, sqnr_db, step
from ironlaw.errors import BadValue


def test_levels_and_steps_by_hand():
    assert [levels(bits) for bits in (2, 3, 4, 8)] == [3, 7, 15, 255]
    assert levels(4, symmetric=False) == 16
    assert step(1.0, 2) == 1.0  # −1, 0, 1
    assert step(7.0, 4) == 1.0  # −7 … 7
    assert step(15.0, 4, symmetric=False) == 2.0
    assert noise_power(4, 7.0) == pytest.approx(1 / 12) == noise_power(2)
    assert step(0.0, 8) == 0.0


def test_each_bit_less_multiplies_the_noise():
    """(2^(b−1)−1)² / (2^(b−2)−1)²: 4.06, 4.13, 4.27, 4.59, 5.44, 9 on the way from 8 bits to 2."""
    by_hand = [(127 / 63) ** 2, (63 / 31) ** 2, (31 / 15) ** 2, (15 / 7) ** 2, (7 / 3) ** 2, 9.0]
    assert [factor_per_bit(bits) for bits in (8, 7, 6, 5, 4, 3)] == pytest.approx(by_hand, rel=1e-12)
    assert [round(factor, 2) for factor in by_hand] == [4.06, 4.13, 4.27, 4.59, 5.44, 9.0]
    assert [10 * math.log10(factor) for factor in (by_hand[0], by_hand[-1])] == pytest.approx([6.09, 9.54], abs=0.005)
    assert factor_per_bit(8, 4) == pytest.approx((127 / 7) ** 0.5)  # four bits at once: the fourth root of (127/7)²
    assert noise_power(5) / noise_power(6) == pytest.approx(4.27, abs=0.005)


def test_many_levels_tend_to_six_decibels_a_bit():
    assert sqnr_db(32) - sqnr_db(31) == pytest.approx(20 * math.log10(2), abs=1e-6)
    assert sqnr_db(8) == pytest.approx(20 * math.log10(254))
    assert sqnr_db(8, symmetric=False) == pytest.approx(20 * math.log10(255))


@pytest.mark.parametrize(("bits", "symmetric"), [(3, True), (5, True), (8, False)])
def test_noise_of_even_values_as_drawn(bits, symmetric):
    rng = np.random.default_rng(3)
    values = rng.uniform(-2.0, 2.0, 400_000)
    width = step(2.0, bits, symmetric)
    offset = 0.0 if symmetric else width / 2
    on_grid = np.round((values - offset) / width) * width + offset
    assert np.mean((on_grid - values) ** 2) == pytest.approx(noise_power(bits, 2.0, symmetric), rel=0.01)


MAX_1960 = {4: (0.9957, 0.1188), 8: (0.5860, 0.03744), 16: (0.3352, 0.01154)}
SYMMETRIC = {3: 1.2240, 7: 0.6508, 15: 0.3534}


@pytest.mark.parametrize("count", [*MAX_1960, *SYMMETRIC])
def test_the_best_cut_of_a_gaussian(count):
    found = optimize.minimize_scalar(
        lambda s: _noise_by_quadrature(count, s), bounds=(0.05, 2.0), method="bounded", options={"xatol": 1e-7}
    )
    assert best_gaussian_step(count) == pytest.approx(found.x, abs=2e-5)
    assert gaussian_noise(count, found.x) == pytest.approx(found.fun, rel=1e-7)
    expected = MAX_1960[count][0] if count in MAX_1960 else SYMMETRIC[count]
    assert best_gaussian_step(count) == pytest.approx(expected, abs=6e-5)
    if count in MAX_1960:
        assert gaussian_noise(count, best_gaussian_step(count)) == pytest.approx(MAX_1960[count][1], rel=5e-4)
    assert best_gaussian_bound(count) == pytest.approx(best_gaussian_step(count) * (count - 1) / 2)


def _noise_by_quadrature(count, width):
    half, most = (count - 1) % 2 / 2, (count - 1) / 2

    def error(x):
        place = max(-most, min(most, round(x / width - half) + half)) * width
        return (x - place) ** 2 * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    edges = [i * width / 2 for i in range(-count - 1, count + 2)]
    parts = zip([-12.0, *edges], [*edges, 12.0], strict=True)
    return sum(integrate.quad(error, low, high)[0] for low, high in parts)


@given(st.integers(2, 40), st.floats(0.01, 3.0))
def test_no_grid_is_better_than_the_best_and_none_worse_than_useless(count, width):
    assert gaussian_noise(count, best_gaussian_step(count)) <= gaussian_noise(count, width) + 1e-12
    assert gaussian_noise(count, width) > 0


@given(st.floats(-4, -0.1), st.floats(-5, 5), st.lists(st.integers(2, 16), min_size=2, max_size=8, unique=True))
def test_decay_finds_a_line_again_and_agrees_with_scipy(slope, start, bits):
    line = decay(bits, [2.0 ** (start + slope * b) for b in bits])
    assert (line.slope, line.factor, line.r) == (pytest.approx(slope), pytest.approx(2.0**-slope), pytest.approx(-1.0))
    assert line.at(5) == pytest.approx(2.0 ** (start + 5 * slope))
    uneven = [2.0 ** (start + slope * b + (0.3 if b % 2 else 0)) for b in bits]
    reference = stats.linregress(bits, np.log2(uneven))
    mine = decay(bits, uneven)
    assert (mine.slope, mine.start, mine.r) == pytest.approx((reference.slope, reference.intercept, reference.rvalue), abs=1e-7)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: levels(1), "from 2 to 32"),
        (lambda: levels(4.5), "whole number"),
        (lambda: levels(33), "from 2 to 32"),
        (lambda: levels(math.inf), "from 2 to 32"),
        (lambda: levels(math.nan), "from 2 to 32"),
        (lambda: step(-1.0, 8), "bound of 0 or more"),
        (lambda: step(math.inf, 8), "finite bound"),
        (lambda: factor_per_bit(4, 4), "nothing is taken away"),
        (lambda: gaussian_noise(1, 1.0), "at least 2 levels"),
        (lambda: gaussian_noise(4, 0.0), "step above 0"),
        (lambda: gaussian_noise(4, math.inf), "finite step"),
        (lambda: decay([3], [1.0]), "two different bits"),
        (lambda: decay([3, 4], [1.0]), "as many of each"),
        (lambda: decay([3, 4], [1.0, 0.0]), "a harm of 0.0"),
        (lambda: decay([3, 4], [math.nan, 1.0]), "a harm of nan"),
        (lambda: decay([3, 4], [1.0, math.inf]), "a harm of inf"),
    ],
)
def test_what_makes_no_grid_is_refused(ask, says):
    with pytest.raises(BadValue, match=says):
        ask()


@pytest.mark.parametrize(
    ("ask", "field"), [(lambda: levels(1), "bits"), (lambda: step(-1.0, 8), "bound"), (lambda: factor_per_bit(4, 4), "bits")]
)
def test_the_setting_that_is_refused_is_named(ask, field):
    with pytest.raises(BadValue) as refused:
        ask()
    assert refused.value.field == field
