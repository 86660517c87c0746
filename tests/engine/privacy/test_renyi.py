"""The divergence of a step: an integral against its sum, the plain Gaussian, and the order that proves most against all of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.privacy import renyi
from ironlaw.engine.privacy.renyi import best_order, divergence, moments_conversion, tight_conversion
from ironlaw.errors import BadValue


@given(st.sampled_from((2, 3, 5, 11)), st.floats(1e-3, 0.9), st.floats(0.2, 8))
def test_the_sum_is_the_integral(order, q, sigma):
    assert divergence(q, sigma, order) == pytest.approx(renyi._integral(q, sigma, order) / (order - 1), rel=1e-8, abs=1e-12)


def test_a_whole_batch_is_the_plain_gaussian():
    assert divergence(1.0, 2.0, 7) == 7 / 8 and divergence(1.0, 0.5, 1.5) == 3.0
    assert divergence(1 - 1e-12, 2.0, 2.5) == pytest.approx(2.5 / 8, rel=1e-9)


def test_order_two_by_hand():
    q, sigma = 0.03, 1.7
    assert divergence(q, sigma, 2) == pytest.approx(math.log1p(q * q * math.expm1(1 / sigma**2)), rel=1e-12)


def test_between_whole_orders_it_lies_between():
    orders = [1.05, 1.5, 2, 2.5, 3, 3.7, 4]
    told = [divergence(0.02, 0.9, order) for order in orders]
    assert told == sorted(told)


@given(st.floats(1e-4, 0.3), st.floats(0.5, 10), st.integers(1, 10**5), st.sampled_from((moments_conversion, tight_conversion)))
def test_no_other_order_proves_more(q, sigma, steps, conversion):
    told, order = best_order(q, sigma, steps, 1e-5, conversion)
    each = {k: conversion(steps * divergence(q, sigma, k), k, 1e-5) for k in (*range(2, 65), 100, 200, 512, 1024)}
    assert told <= min(each.values()) + 1e-12
    assert conversion(steps * divergence(q, sigma, order), order, 1e-5) == told
    assert best_order(q, sigma, steps, 1e-5, conversion, fractional=True)[0] <= told


def test_tiny_noise_wants_a_fractional_order():
    whole, of_tenths = best_order(0.01, 0.4, 10, 1e-5), best_order(0.01, 0.4, 10, 1e-5, fractional=True)
    assert whole[1] == 2 and of_tenths[1] == 2.2 and of_tenths[0] < 0.9 * whole[0]
    assert 1 < best_order(0.5, 0.3, 1, 1e-2, fractional=True)[1] < 2


def test_an_order_of_one_is_refused():
    with pytest.raises(BadValue, match="above 1"):
        divergence(0.1, 1.0, 1)
