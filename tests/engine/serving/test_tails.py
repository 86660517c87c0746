"""Tails against hand values and SciPy's distributions."""

import math
from collections.abc import Callable

import pytest
from scipy import stats

from ironlaw.engine.serving.tails import (
    at_least_one,
    exponential_tail,
    fan_out,
    fan_out_quantile,
    hedge_load,
    hedged,
    joined_tail,
    lognormal_quantile,
    merged_quantile,
    normal_quantile,
    quantile,
)
from ironlaw.errors import BadValue


def test_a_page_of_many_calls_is_slow_as_often_as_published() -> None:
    assert at_least_one(0.01, 100) == pytest.approx(0.63397, abs=5e-6)
    assert at_least_one(1e-4, 2000) == pytest.approx(0.18128, abs=5e-6)
    assert at_least_one(0.25, 1) == pytest.approx(0.25)
    assert at_least_one(1.0, 3) == 1.0
    assert at_least_one(0.0, 3) == 0.0
    assert at_least_one(1e-18, 1000) == pytest.approx(1e-15)  # (1 − p)^k rounds to 1 here


def test_the_leaf_quantile_behind_a_page_quantile() -> None:
    assert fan_out_quantile(0.99, 100) == pytest.approx(0.99989950, abs=5e-9)
    assert fan_out_quantile(0.99, 1) == pytest.approx(0.99)
    for k in (2, 37, 2000):
        page = fan_out(exponential_tail(0.01), k)
        assert quantile(page, 0.99) == pytest.approx(stats.expon(scale=0.01).ppf(0.99 ** (1 / k)), rel=1e-9)


def test_a_tail_begins_at_one_and_falls_as_scipy_has_it() -> None:
    tail = exponential_tail(3.0)
    assert tail(-1.0) == tail(0.0) == 1.0
    assert tail(4.0) == pytest.approx(stats.expon(scale=3.0).sf(4.0))
    assert quantile(tail, 0.99) == pytest.approx(stats.expon(scale=3.0).ppf(0.99))
    assert quantile(exponential_tail(1e9), 0.999) == pytest.approx(1e9 * math.log(1000))


@pytest.mark.parametrize("p", [0.9, 0.99, 0.9999])
def test_a_hedged_exponential_call_has_the_quantile_worked_out_by_hand(p: float) -> None:
    mean, delay = 0.02, 0.03
    assert quantile(hedged(exponential_tail(mean), delay), p) == pytest.approx((-math.log(1 - p) * mean + delay) / 2, rel=1e-9)
    assert hedge_load(exponential_tail(mean), delay) == pytest.approx(math.exp(-1.5))


def test_before_the_copy_is_sent_nothing_changes() -> None:
    tail = exponential_tail(1.0)
    both = hedged(tail, 0.5)
    assert both(0.49) == tail(0.49)
    assert both(0.5) == tail(0.5)
    assert both(1.5) == pytest.approx(math.exp(-1.5 - 1.0))
    assert hedged(tail, 0.0)(1.0) == pytest.approx(math.exp(-2.0))


def test_the_average_of_two_p99s_is_not_the_p99_of_both() -> None:
    short, long = exponential_tail(0.010), exponential_tail(0.100)
    assert merged_quantile([(1, short), (1, long)], 0.99) == pytest.approx(0.3912, abs=5e-5)
    assert (quantile(short, 0.99) + quantile(long, 0.99)) / 2 == pytest.approx(0.2533, abs=5e-5)
    assert merged_quantile([(3, short), (0, long)], 0.99) == pytest.approx(quantile(short, 0.99))
    assert merged_quantile([(9, short), (1, long)], 0.99) == pytest.approx(0.100 * math.log(10), rel=1e-3)


def test_normal_and_lognormal_quantiles_are_scipys() -> None:
    for p in (1e-6, 0.2, 0.5, 0.99, 0.999999):
        assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), abs=1e-10)
    assert lognormal_quantile(50, 0.8, 0.99) == pytest.approx(233.48, abs=5e-3)
    assert lognormal_quantile(50 * math.exp(0.32), 0.8, 0.99) == pytest.approx(321.53, abs=5e-3)  # a median of 50
    assert lognormal_quantile(7, 0.3, 0.9) == pytest.approx(stats.lognorm(0.3, scale=7 * math.exp(-0.045)).ppf(0.9))
    assert lognormal_quantile(7, 0.0, 0.9) == 7


def test_no_lognormal_has_a_p99_of_fifteen_means() -> None:
    most = math.exp(stats.norm.ppf(0.99) ** 2 / 2)
    ratios = [lognormal_quantile(1, sigma / 100, 0.99) for sigma in range(1, 600)]
    assert max(ratios) == pytest.approx(most, rel=1e-4) == pytest.approx(14.97, abs=5e-3)
    assert all(ratio <= most for ratio in ratios)


def test_a_tail_in_steps_has_the_least_time_that_will_do() -> None:
    steps = {0.0: 0.5, 1.0: 0.25, 3.0: 0.0}

    def tail(t: float) -> float:
        return next(share for at, share in reversed(steps.items()) if t >= at)

    assert quantile(tail, 0.5) == pytest.approx(0.0, abs=1e-12)
    assert quantile(tail, 0.6) == pytest.approx(1.0)
    assert quantile(tail, 0.75) == pytest.approx(1.0)
    assert quantile(tail, 0.76) == pytest.approx(3.0)


def test_a_copy_that_is_not_sent_yet_is_not_asked_about() -> None:
    """A tail need not make sense before 0."""
    both = hedged(lambda t: math.exp(-t), 1.0)
    assert both(0.5) == pytest.approx(math.exp(-0.5))
    assert both(2.0) == pytest.approx(math.exp(-3.0))


REFUSALS = [
    (lambda: quantile(exponential_tail(1.0), 1.0), "the quantile is 1.0; give a share between 0 and 1, such as 0.99"),
    (lambda: quantile(exponential_tail(1.0), 0.0), "the quantile is 0.0; give a share between 0 and 1, such as 0.99"),
    (lambda: quantile(lambda t: 1.0, 0.75), "the tail stays above 0.25 forever; it has no such quantile: give a tail that falls to 0"),
    (lambda: exponential_tail(0.0), "mean is 0.0; give a finite number above 0"),
    (lambda: at_least_one(1.1, 2), "1.1 is not a valid probability; give a number from 0 to 1"),
    (lambda: at_least_one(-0.1, 2), "-0.1 is not a valid probability; give a number from 0 to 1"),
    (lambda: at_least_one(0.1, 0.5), "a page that joins 0.5 calls; give 1 or more"),
    (lambda: fan_out(exponential_tail(1.0), math.inf), "a page that joins inf calls; give 1 or more"),
    (lambda: fan_out_quantile(0.0, 3), "the quantile is 0.0; give a share between 0 and 1, such as 0.99"),
    (lambda: fan_out_quantile(0.5, 0), "a page that joins 0 calls; give 1 or more"),
    (lambda: hedged(exponential_tail(1.0), -1.0), "delay is -1.0; give a finite number of at least 0"),
    (lambda: merged_quantile([], 0.5), "streams to be merged need rates of 0 or more, at least one above 0; give (rate, tail) pairs"),
    (
        lambda: merged_quantile([(-1, exponential_tail(1.0)), (2, exponential_tail(1.0))], 0.5),
        "streams to be merged need rates of 0 or more",
    ),
    (lambda: merged_quantile([(0, exponential_tail(1.0))], 0.5), "streams to be merged need rates of 0 or more, at least one above 0"),
    (lambda: lognormal_quantile(1.0, -0.1, 0.5), "sigma is -0.1; give a finite number of at least 0"),
    (lambda: lognormal_quantile(0.0, 0.1, 0.5), "mean is 0.0; give a finite number above 0"),
    (lambda: normal_quantile(1.0), "the quantile is 1.0; give a share between 0 and 1, such as 0.99"),
]


@pytest.mark.parametrize(("call", "words"), REFUSALS)
def test_what_makes_no_sense_is_refused_with_what_to_do(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadValue) as refusal:
        call()
    assert str(refusal.value).startswith(words)


def test_a_page_that_joins_is_as_slow_as_its_slowest() -> None:
    ordered = [float(i) for i in range(1, 1001)]
    one, ten = joined_tail(ordered, 1), joined_tail(ordered, 10)
    assert one[0] == (1.0, 1.0) and one[-1] == (1000.0, pytest.approx(0.001))  # all are slower or as slow; the slowest is one of them
    assert all(share == pytest.approx((1001 - seconds) / 1000) for seconds, share in one)
    assert [share for _, share in ten] == [pytest.approx(1 - (1 - share) ** 10) for _, share in one]
