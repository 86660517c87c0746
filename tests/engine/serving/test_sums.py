"""Sums of services against the gamma law, hand values and bounds that hold for every law; laws against SciPy."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ironlaw.engine.fourier import spectrum, values
from ironlaw.engine.serving.laws import Hedged, Retried, Slowest, law, measured
from ironlaw.engine.serving.sums import total
from ironlaw.errors import BadValue

EXPONENTIAL = law("exponential", 0.1)
LAWS = st.builds(law, st.sampled_from(("exponential", "lognormal", "pareto")), st.floats(0.01, 1.0), st.floats(0.6, 2.5))


def test_the_transform_is_numpys_and_goes_back():
    numbers = list(np.random.default_rng(0).standard_normal(64))
    assert np.allclose(spectrum(numbers), np.fft.rfft(numbers), atol=1e-13) and np.allclose(values(spectrum(numbers)), numbers, atol=1e-14)
    with pytest.raises(BadValue, match="power of two"):
        spectrum([1.0, 2.0, 3.0])


@pytest.mark.parametrize(("n", "ratio"), [(2, 0.721), (5, 0.504), (10, 0.408), (20, 0.346)])
def test_exponentials_add_up_to_the_gamma_law(n, ratio):
    chain, exact = total([EXPONENTIAL] * n), stats.gamma(n, scale=0.1 / math.log(100))
    assert chain.quantile(0.99) == pytest.approx(exact.ppf(0.99), rel=1e-4)
    assert chain.quantile(0.99) / (0.1 * n) == pytest.approx(ratio, abs=5e-4)
    for t in (0.02 * n, 0.05 * n, 0.1 * n):
        assert chain.tail(t) == pytest.approx(exact.sf(t), rel=1e-2, abs=1e-10)


def test_five_green_services():
    """The key: P99 of the whole is 252 ms, and 500 ms are passed about once in a million."""
    chain = total([EXPONENTIAL] * 5)
    assert chain.quantile(0.99) == pytest.approx(0.25199, abs=1e-5) and chain.tail(0.5) == pytest.approx(1.4036e-6, rel=1e-3)
    assert total([EXPONENTIAL] * 1000).quantile(0.99) == pytest.approx(stats.gamma(1000, scale=0.1 / math.log(100)).ppf(0.99), rel=2e-3)


@pytest.mark.parametrize(
    ("kind", "shape", "milliseconds", "share"),
    [
        ("lognormal", 1, 249, 0.0004), ("lognormal", 2, 327, 0.0048), ("lognormal", 3, 538, 0.0108), ("pareto", 0.8, 764, 0.0141),
        ("pareto", 1, 525, 0.0105),
    ],
)  # fmt: skip
def test_heavier_tails(kind, shape, milliseconds, share):
    """Against draws: which families pass 500 ms at P99 and which do not."""
    one = law(kind, 0.1, shape)
    chain = total([one] * 5)
    assert 1e3 * chain.quantile(0.99) == pytest.approx(milliseconds, abs=0.6) and chain.tail(0.5) == pytest.approx(share, abs=1e-4)
    random = np.random.default_rng(1)
    draws = (
        random.lognormal(math.log(one.median), shape, (200_000, 5))
        if kind == "lognormal"
        else one.least * random.random((200_000, 5)) ** (-1 / shape)
    )
    assert np.quantile(draws.sum(axis=1), 0.99) == pytest.approx(chain.quantile(0.99), rel=0.06)


def test_where_all_are_slow_together_percentiles_add():
    mixed = [EXPONENTIAL, law("lognormal", 0.05, 2.0), law("pareto", 0.2, 1.5)]
    assert total(mixed, 1.0).quantile(0.99) == pytest.approx(0.35) and total([EXPONENTIAL] * 5, 1.0).quantile(0.99) == pytest.approx(0.5)
    assert total(mixed, 1.0).tail(0.35) == pytest.approx(0.01, rel=1e-3)
    apart, half = total([EXPONENTIAL] * 5), total([EXPONENTIAL] * 5, 0.5)
    assert half.tail(0.3) == pytest.approx((apart.tail(0.3) + total([EXPONENTIAL] * 5, 1.0).tail(0.3)) / 2)
    assert apart.quantile(0.99) < half.quantile(0.99) < 0.5
    heavy = law("pareto", 0.1, 0.8)
    assert total([heavy] * 5).quantile(0.99) > total([heavy] * 5, 0.5).quantile(0.99) > 0.5


@pytest.mark.parametrize(("kind", "light", "heavy"), [("lognormal", 2.85, 2.87), ("pareto", 1.04, 1.03)])
def test_from_which_shape_on_five_pass_the_sum_of_their_p99s(kind, light, heavy):
    assert total([law(kind, 0.1, light)] * 5).quantile(0.99) < 0.5 < total([law(kind, 0.1, heavy)] * 5).quantile(0.99)


def test_calls_at_once_that_are_slow_together_are_like_one():
    """Two steps of a hundred calls: where one cause makes all slow, the slowest of each hundred is no slower than any."""
    pages = [Slowest(EXPONENTIAL, 100)] * 2
    all_together = total(pages, 1.0, shared=[EXPONENTIAL] * 2)
    assert all_together.quantile(0.99) == pytest.approx(0.2) and all_together.tail(0.2) == pytest.approx(0.01)
    some, none = total(pages, 0.3, shared=[EXPONENTIAL] * 2), total(pages)
    assert some.tail(0.25) == pytest.approx(0.7 * none.tail(0.25) + 0.3 * EXPONENTIAL.tail(0.125), rel=1e-3)
    one = total(pages[:1], 0.5, shared=[EXPONENTIAL])
    assert one.tail(0.1) == pytest.approx((0.63397 + 0.01) / 2, abs=1e-5) and one.tail(one.quantile(0.9)) == pytest.approx(0.1)
    assert total(pages[:1], 1.0, shared=[EXPONENTIAL]).quantile(0.99) == pytest.approx(0.1)
    assert total([Retried(EXPONENTIAL, 0.05, 0)] * 2, 1.0, shared=[EXPONENTIAL]).fails == 0


def test_leaves_of_a_published_tree():
    """Dean and Barroso's table: a log-normal through one leaf's median and P99 needs 7,000 independent leaves for a median of 40 ms."""
    leaf = stats.lognorm(math.log(10) / stats.norm.ppf(0.99), scale=0.001)
    ours = Slowest(law("lognormal", 0.010, math.log(10) / stats.norm.ppf(0.99)), 7000)
    assert 1e3 * leaf.ppf(0.95) == pytest.approx(5.1, abs=0.05)
    assert [1e3 * ours.quantile(p) for p in (0.5, 0.95, 0.99)] == pytest.approx([40, 73, 103], abs=0.6)
    assert ours.quantile(0.99) == pytest.approx(leaf.ppf(0.99 ** (1 / 7000)), rel=1e-6)


@pytest.mark.parametrize("shape", [0.5, 1.5, 2.5])
def test_with_lighter_tails_independence_is_the_better_case(shape):
    assert total([law("lognormal", 0.1, shape)] * 5).quantile(0.99) <= 0.5


@settings(max_examples=20)
@given(st.lists(LAWS, min_size=2, max_size=4), st.floats(0, 1))
def test_bounds_that_hold_for_every_law(laws, dependence):
    """The whole is over Σt no more often than some part is over its t, and over t at least as often as the slowest part."""
    chain, limits = total(laws, dependence), [one.quantile(0.97) for one in laws]
    assert chain.tail(sum(limits)) <= sum(one.tail(t) for one, t in zip(laws, limits, strict=True)) * 1.002 + 1e-9
    assert chain.tail(limits[0]) >= max(one.tail(limits[0]) for one in laws) * 0.998 - 1e-9
    if dependence == 0:
        union = 1 - math.prod(1 - one.tail(t) for one, t in zip(laws, limits, strict=True))
        assert chain.tail(sum(limits)) <= union * 1.002 + 1e-9


@pytest.mark.parametrize(("mean", "timeout"), [(0.03, 0.118), (0.028, 0.118), (0.02, 0.08)])
def test_one_part_may_fail_more_often_than_its_even_share(mean, timeout):
    """Five services and a sixth that is tried twice and fails in more than a sixth of what may be late, so an even split has no answer;
    but in less than all of that, so the whole has one. By hand: the gamma law of the five under the density of the sixth."""
    last, five, late = Retried(law("exponential", mean * math.log(100)), timeout, 1), stats.gamma(5, scale=0.01), math.exp(-timeout / mean)
    assert last.fails == pytest.approx(late**2)
    answered = total([law("exponential", 0.01 * math.log(100))] * 5 + [last]).quantile(1 - 1.2 * last.fails)
    middles = (np.arange(20_000) + 0.5) * timeout / 20_000
    density = np.exp(-middles / mean) / mean * timeout / 20_000
    within = (density * (five.cdf(answered - middles) + late * five.cdf(answered - middles - timeout))).sum()
    assert within == pytest.approx(1 - 1.2 * last.fails, abs=1e-6 + 0.005 * last.fails)


@pytest.mark.parametrize("share", [1.0, 1 - 1e-12, 1 + 1e-12, 1 + 1e-9])
def test_where_nothing_but_failures_may_be_late_the_answer_is_large_or_infinite(share):
    last = Retried(EXPONENTIAL, 0.1, 1)  # a hundredth is late, so one in ten thousand fails
    assert total([EXPONENTIAL] * 2 + [last]).quantile(1 - share * last.fails) > 0.3


@pytest.mark.parametrize(
    "one",
    [EXPONENTIAL, law("lognormal", 0.1, 2.0), law("pareto", 0.1, 0.8), Slowest(EXPONENTIAL, 10), Slowest(law("pareto", 0.1, 1.5), 1000),
     Hedged(EXPONENTIAL, 0.05), Retried(EXPONENTIAL, 0.2, 2)],
)  # fmt: skip
def test_half_the_step_moves_no_quantile(one):
    for p in (0.5, 0.99, 0.999):
        assert total([one] * 5).quantile(p) == pytest.approx(total([one] * 5, steps=2048).quantile(p), rel=5e-3)


def test_a_page_of_many_calls_and_a_curve():
    page = Slowest(EXPONENTIAL, 100)
    assert page.tail(0.1) == pytest.approx(0.63397, abs=5e-6)
    for t in (0.05, 0.1, 0.3):
        assert 1 - page.tail(t) == pytest.approx((1 - EXPONENTIAL.tail(t)) ** 100, abs=1e-12)
    curve = total([page] * 2, 0.2).curve(1.0, points=50)
    assert len(curve) == 50 and curve[-1][0] == 1.0 and all(a[1] >= b[1] - 1e-9 for a, b in pairwise(curve))
    times = [0.1, 0.3, 0.5, 1.0]
    assert total([page] * 2, 0.2).tails(times) == pytest.approx([total([page] * 2, 0.2).tail(t) for t in times], abs=2e-4)
    assert total([page]).curve(0.2, 1) == [(0.2, pytest.approx(page.tail(0.2)))]


def test_a_hedge_after_the_95th_percentile():
    after = EXPONENTIAL.quantile(0.95)
    both = Hedged(EXPONENTIAL, after)
    assert EXPONENTIAL.tail(after) == pytest.approx(0.05)
    assert both.tail(0.12) == pytest.approx(EXPONENTIAL.tail(0.12) * EXPONENTIAL.tail(0.12 - after)) and both.quantile(
        0.999
    ) < EXPONENTIAL.quantile(0.999)


def test_calls_that_are_given_up_and_made_again():
    once, thrice = Retried(EXPONENTIAL, 0.05, 0), Retried(EXPONENTIAL, 0.05, 2)
    late = EXPONENTIAL.tail(0.05)
    assert once.fails == pytest.approx(late) and thrice.fails == pytest.approx(late**3) and thrice.tail(9.0) == thrice.fails
    assert thrice.tail(0.07) == pytest.approx(late * EXPONENTIAL.tail(0.02)) and thrice.tail(0.03) == EXPONENTIAL.tail(0.03)
    assert thrice.quantile(0.9999) == math.inf and thrice.quantile(0.95) < 0.15
    chain = total([thrice] * 2)
    assert chain.fails == pytest.approx(1 - (1 - late**3) ** 2) and chain.quantile(0.999) == math.inf and chain.quantile(0.9) < 0.3
    assert total([thrice] * 2, 1.0).fails == pytest.approx(late**3)


def test_laws_are_as_scipy_has_them():
    assert law("lognormal", 0.1, 1.3).tail(0.03) == pytest.approx(
        stats.lognorm(1.3, scale=0.1 / math.exp(1.3 * stats.norm.ppf(0.99))).sf(0.03)
    )
    assert law("pareto", 0.1, 1.7).tail(0.3) == pytest.approx(stats.pareto(1.7, scale=0.1 * 0.01 ** (1 / 1.7)).sf(0.3))
    for one in (EXPONENTIAL, law("lognormal", 0.1, 2.0), law("pareto", 0.1, 1.2)):
        assert one.quantile(0.99) == pytest.approx(0.1) and one.tail(one.quantile(0.7)) == pytest.approx(0.3) and one.tail(-1) == 1
    seen = measured((0.0, 1.0, 3.0))
    assert [seen.tail(t) for t in (-1.0, 0.5, 1.0, 2.0, 3.0)] == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0])
    assert seen.quantile(0.75) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: total([]), "at least one"), (lambda: total([EXPONENTIAL], 1.5), "0 (independent)"),
        (lambda: law("normal", 1.0), "exponential"), (lambda: law("pareto", 1.0, 0.0), "above 0"),
        (lambda: measured((1.0,)), "at least two"), (lambda: measured((2.0, 1.0)), "never fall"),
        (lambda: total([EXPONENTIAL] * 2).quantile(1.0), "0.99"), (lambda: total([EXPONENTIAL]).curve(0.0), "above 0"),
        (lambda: total([EXPONENTIAL]).tails([0.0, 1.0]), "above 0"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises(BadValue) as caught:
        call()
    assert words in str(caught.value)
