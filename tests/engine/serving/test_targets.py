"""The highest rate that meets a target, from both sides."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.batching import batch_server
from ironlaw.engine.serving.queues import md1, mm1
from ironlaw.engine.serving.targets import highest_rate, least, rate_on_curve


@given(st.floats(1e-3, 10), st.floats(5, 200))
def test_exponential_service_has_its_own_formula(service, slack):
    """P99 = ln 100 / (μ − λ), so λ = μ − ln 100 / target."""
    target = slack * service
    rate = highest_rate(lambda r: mm1(r, service).quantile(0.99), target, 1 / service)
    assert rate == pytest.approx(1 / service - math.log(100) / target, rel=1e-5)


def test_one_more_request_a_second_is_too_many():
    rate = highest_rate(lambda r: md1(r, 5e-3).quantile(0.99), 50e-3, 200)
    assert md1(rate, 5e-3).quantile(0.99) <= 50e-3 < md1(rate + 1, 5e-3).quantile(0.99)


def test_no_rate_meets_less_than_one_service():
    assert highest_rate(lambda r: md1(r, 5e-3).quantile(0.99), 4e-3, 200) == 0.0


def test_a_server_that_waits_for_full_batches_is_late_at_low_rates_and_meets_higher_ones():
    def p99(rate):
        return batch_server(rate, {1: 1e-3, 32: 2e-3}, 32, policy="fixed", n=4000).quantile(0.99)

    rate = highest_rate(p99, 10e-3, 16_000, 10)
    assert p99(100) > 10e-3 >= p99(rate) and rate > 8_000


def test_the_least_that_does():
    assert least((1, 2, 4, 8), lambda n: n * n > 5) == 4
    assert least((1, 2), lambda n: n > 5) is None


def test_rates_are_tried_over_six_decades_and_a_target_that_is_just_met_is_met():
    assert highest_rate(lambda rate: rate, 1.05e-6, 1.0) == pytest.approx(1.05e-6, rel=1e-6)
    assert highest_rate(lambda rate: rate, 0.9e-6, 1.0) == 0.0
    assert highest_rate(lambda rate: 1.0, 1.0, 5.0) == pytest.approx(5.0, rel=1e-6) and highest_rate(lambda rate: 1.0, 0.9, 5.0) == 0.0


def test_between_two_points_of_a_curve_the_rate_is_read_off_a_log_scale():
    """10 ms at 100 a second, 1 s at 10,000: 100 ms is half-way on both scales, so 1,000 a second."""
    points = [(100.0, 0.010), (10_000.0, 1.0)]
    assert rate_on_curve(points, 0.1, 20_000.0) == pytest.approx(1_000.0)
    assert rate_on_curve(points, 0.001, 20_000.0) == 0.0 and rate_on_curve(points, 2.0, 20_000.0) == 10_000.0
    # late at low rates, in time at high ones: the last that is in time counts
    assert rate_on_curve([(1.0, 5.0), (10.0, 0.5), (100.0, 2.0)], 1.0, 200.0) == pytest.approx(10 * 10**0.5)
    assert rate_on_curve([(1.0, 1.0), (10.0, 1.0)], 1.0, 20.0) == 10.0
