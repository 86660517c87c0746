"""Ranks against SciPy's binomial distribution."""

from collections.abc import Callable

import pytest
from scipy import stats

from ironlaw.engine.serving.samples import least_count, order_interval, rank
from ironlaw.errors import BadValue

CASES = [(n, p) for n in (20, 57, 100, 299, 368, 1000, 4321, 100_000) for p in (0.5, 0.9, 0.95, 0.99, 0.999)]


def test_the_fewest_requests_that_bound_a_percentile() -> None:
    assert [least_count(p) for p in (0.99, 0.999, 0.9999)] == [299, 2_995, 29_956]
    assert least_count(0.5) == 5  # 1/32 is the first power of a half below 5%
    assert least_count(0.05) == 1
    assert least_count(0.5, 0.5) == 1
    assert least_count(0.99, 0.99) == 459


def test_ranks_of_a_thousand() -> None:
    assert order_interval(1000, 0.99) == (983, 997)


def test_small_samples_have_no_upper_end() -> None:
    assert order_interval(200, 0.99) == (195, None)
    assert order_interval(367, 0.99)[1] is None
    assert order_interval(368, 0.99)[1] == 368
    assert order_interval(3, 0.5) == (None, None)
    assert order_interval(6, 0.5) == (1, 6)


@pytest.mark.parametrize(("n", "p"), CASES)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_ranks_cover_what_they_say_and_are_the_closest_that_do(n: int, p: float, confidence: float) -> None:
    below = stats.binom(n, p)
    half = (1 - confidence) / 2
    low, high = order_interval(n, p, confidence)
    # the percentile lies under the low rank where fewer than `low` values do not exceed it
    assert (below.cdf(low - 1) if low else 0.0) <= half * (1 + 1e-9)
    assert below.cdf(low or 0) > half * (1 - 1e-9)
    if high is None:
        assert below.sf(n - 1) > half * (1 - 1e-9)
    else:
        assert below.sf(high - 1) <= half * (1 + 1e-9)
        assert below.sf(high - 2) > half * (1 - 1e-9)


def test_a_rank_is_the_nearest_one() -> None:
    assert [rank(10, p) for p in (0.01, 0.1, 0.11, 0.5, 0.9, 0.99)] == [1, 1, 2, 5, 9, 10]
    assert rank(10_000, 0.9999) == 9_999
    assert rank(1, 0.5) == 1


REFUSALS = [
    (lambda: order_interval(0, 0.5), "a sample of 0 requests; count at least 1"),
    (lambda: rank(0, 0.5), "a sample of 0 requests; count at least 1"),
    (lambda: order_interval(10, 1.0), "the percentile is 1.0; give a share between 0 and 1, such as 0.99"),
    (lambda: least_count(0.0), "the percentile is 0.0; give a share between 0 and 1, such as 0.99"),
    (lambda: order_interval(10, 0.5, 1.0), "the confidence is 1.0; give a share between 0 and 1, such as 0.95"),
    (lambda: least_count(0.5, 0.0), "the confidence is 0.0; give a share between 0 and 1, such as 0.95"),
]


@pytest.mark.parametrize(("call", "words"), REFUSALS)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadValue) as refusal:
        call()
    assert str(refusal.value) == words


def test_a_sample_of_one_says_little() -> None:
    assert rank(1, 0.99) == 1
    assert order_interval(1, 0.99) == (1, None)
    assert order_interval(1, 0.5) == (None, None)
