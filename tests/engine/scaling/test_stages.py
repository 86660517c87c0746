"""Stages in turn and overlapped, by hand and in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.scaling.amdahl import amdahl
from ironlaw.engine.scaling.stages import in_turn, pipelined, share_after
from ironlaw.errors import BadValue

STAGES = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 100)), min_size=1, max_size=6)


def test_loader_and_gpu():
    assert pipelined((8, 10), (1, 5)) == 1.25
    assert in_turn((8, 10), (1, 5)) == 1.8
    assert pipelined((8, 10), (5, 1)) == 1.0  # not the slowest: nothing gained
    assert pipelined((8, 10), (1, math.inf)) == 1.25 and in_turn((8, 10), (1, math.inf)) == 2.25


@given(STAGES)
def test_in_fractions(stages):
    times, factors = [a for a, _ in stages], [b for _, b in stages]
    after = [Fraction(time, factor) for time, factor in stages]
    assert in_turn(times, factors) == pytest.approx(float(sum(times) / sum(after)), rel=1e-12)
    assert pipelined(times, factors) == pytest.approx(float(max(times) / max(after)), rel=1e-12)
    assert in_turn(times, factors) <= max(factors) * (1 + 1e-12)
    if len(stages) == 1:
        assert in_turn(times, factors) == pipelined(times, factors) == pytest.approx(factors[0])


@given(st.floats(0.01, 0.99), st.floats(1, 1000))
def test_two_stages_in_turn_are_amdahls_law(share, factor):
    assert in_turn((1 - share, share), (1.0, factor)) == pytest.approx(amdahl(1 - share, factor), rel=1e-12)


@given(st.floats(0.05, 0.95), st.floats(1, 100))
def test_the_share_afterwards_is_the_slope(share, factor):
    def speedup(s):
        return math.log(in_turn((1 - share, share), (1.0, s)))

    slope = (speedup(factor * math.exp(1e-5)) - speedup(factor * math.exp(-1e-5))) / 2e-5
    assert share_after((1 - share, share), (1.0, factor), 1) == pytest.approx(slope, abs=1e-6)


def test_shares_by_hand():
    assert share_after((8, 10), (1, 5), 0) == 0.8 and share_after((8, 10), (1, 5), 1) == 0.2
    assert share_after((8, 10), (1, math.inf), 1) == 0.0
    assert in_turn((0, 10), (1, 5)) == 5.0 == pipelined((0, 10), (1, 5))  # a stage that takes no time
    assert in_turn((3,), (math.inf,)) == math.inf == pipelined((3,), (math.inf,))


def test_arrays_are_welcome():
    factors = np.array([1.0, 5.0, 100.0])
    assert in_turn((8.0, 10.0), (1.0, factors)) == pytest.approx([1.0, 1.8, 18 / 8.1])
    assert pipelined((8.0, 10.0), (1.0, factors)) == pytest.approx([1.0, 1.25, 1.25])


@pytest.mark.parametrize("law", [in_turn, pipelined])
@pytest.mark.parametrize(
    ("times", "factors", "word"),
    [
        ((), (), "0 stages"),
        ((1, 2), (1,), "1 factors"),
        ((1, -2), (1, 1), "^time of a stage is -2"),
        ((1, 2), (1, 0), "^factor of a stage is 0"),
    ],
)
def test_what_is_refused_is_named(law, times, factors, word):
    with pytest.raises(BadValue, match=word):
        law(times, factors)
