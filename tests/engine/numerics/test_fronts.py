"""Fronts in several figures against brute force; exact intervals against SciPy."""

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ironlaw.engine.numerics.pareto_nd import Candidate, dominates, dominators, pareto, surely_dominates
from ironlaw.engine.numerics.shares import beta, clopper_pearson, wilson
from ironlaw.errors import BadValue

SENSES = {"clean": "more", "attacked": "more", "seconds": "less"}


def made(rows):
    return [Candidate(str(i), dict(zip(SENSES, row, strict=True))) for i, row in enumerate(rows)]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12))
def test_a_front_is_what_nothing_beats(rows):
    every = made(rows)
    front = pareto(every, SENSES)
    assert {one.name for one in front} == {
        a.name for a, x in zip(every, rows, strict=True) if not any(y[0] >= x[0] and y[1] >= x[1] and y[2] <= x[2] and y != x for y in rows)
    }
    for one in every:
        assert (one in front) != bool(dominators(one, every, SENSES))
    assert {one.name for one in pareto(every[::-1], SENSES)} == {one.name for one in front}


def test_order_and_duplicates_do_not_matter():
    every = made([(1, 2, 3), (1, 2, 3), (2, 1, 3), (0, 0, 9)])
    assert all({one.name for one in pareto(order, SENSES)} == {"0", "1", "2"} for order in permutations(every))
    endless = Candidate("endless", {"clean": 1, "attacked": 2, "seconds": math.inf})
    assert dominates(every[0], endless, SENSES) and not dominates(endless, endless, SENSES)


def test_what_lies_within_doubt_is_not_surely_beaten():
    sense = {"attacked": "more"}
    a, b = (Candidate(name, {"attacked": value}, {"attacked": 0.9}) for name, value in (("a", 71.0), ("b", 70.0)))
    assert dominates(a, b, sense) and not surely_dominates(a, b, sense)
    assert surely_dominates(Candidate("c", {"attacked": 72.0}), b, sense) and not surely_dominates(b, a, sense)


@pytest.mark.parametrize(("hits", "trials"), [(7_000, 10_000), (0, 10_000), (10_000, 10_000), (3, 7), (1, 1)])
def test_exact_intervals(hits, trials):
    told, known = clopper_pearson(hits, trials), stats.binomtest(hits, trials).proportion_ci(0.95)
    assert (told.low, told.high) == pytest.approx((known.low, known.high), abs=1e-10)
    assert told.high - told.low >= wilson(hits, trials).high - wilson(hits, trials).low - 1e-3


def test_the_interval_of_a_benchmark():
    """Ten thousand test images: 70% is ± 0.90 points; none right is at most 0.037%."""
    told = clopper_pearson(7_000, 10_000)
    assert (told.high - told.low) / 2 == pytest.approx(0.0090, abs=5e-5) and clopper_pearson(0, 10_000).high == pytest.approx(
        0.00037, abs=5e-6
    )


@given(st.floats(0.5, 500), st.floats(0.5, 500), st.floats(0, 1))
def test_the_incomplete_beta_function(a, b, x):
    assert beta(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clopper_pearson(2, 1), "no more hits"),
        (lambda: clopper_pearson(1, 2, 1.0), "0.95"),
        (lambda: pareto([], {}), "at least one"),
        (lambda: pareto(made([(1, 2, 3)]), {"clean": "big"}), "more"),
        (lambda: pareto([Candidate("x", {})], {"clean": "more"}), "x has no clean"),
    ],
)
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises(BadValue, match=words):
        call()
