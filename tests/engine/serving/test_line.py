"""One area cut two ways, in rational arithmetic; orders, windows, and Lindley's recursion in NumPy as a second opinion."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import ORDERS, ranked, simulate
from ironlaw.engine.serving.queues import mg1_mean
from ironlaw.engine.streams import lognormal
from ironlaw.errors import BadValue

fractions = st.integers(0, 970).map(lambda n: Fraction(n, 97))
lines = st.lists(st.tuples(fractions, fractions), min_size=1, max_size=20)
servers = st.integers(1, 5)
orders = st.sampled_from(ORDERS)


def run_of(gaps_and_services, servers, order, seed=0):
    now, arrivals = Fraction(0), []
    for gap, _ in gaps_and_services:
        now += gap
        arrivals.append(now)
    return simulate(arrivals, [service for _, service in gaps_and_services], servers, order, seed)


@given(lines, servers, orders, st.integers(0, 9))
def test_columns_and_rows_are_one_area_exactly(line, servers, order, seed):
    run = run_of(line, servers, order, seed)
    assert isinstance(run.area_by_time, Fraction | int)
    assert run.area_by_time == run.area_by_request == sum(run.leave) - sum(run.arrive)
    if run.span:
        assert run.in_flight == run.rate * run.mean


@given(lines, servers, orders)
def test_servers_serve_one_at_a_time_and_never_rest_while_one_waits(line, servers, order):
    run = run_of(line, servers, order)
    assert sorted(leave - start for start, leave in zip(run.start, run.leave, strict=True)) == sorted(service for _, service in line)
    for i, start in enumerate(run.start):
        assert start >= run.arrive[i]
        working = sum(run.start[k] <= start < run.leave[k] for k in range(len(line)) if k != i)
        assert working <= servers - (run.leave[i] > start)
        for moment in {run.arrive[i], *run.leave}:  # while one waits, all servers work
            if run.arrive[i] <= moment < start:
                assert sum(run.start[k] <= moment < run.leave[k] for k in range(len(line))) == servers


def test_who_is_next_in_each_order():
    arrivals, services = [0, 1, 2, 3], [10, 3, 1, 2]
    assert simulate(arrivals, services).start == (0, 10, 13, 14)
    assert simulate(arrivals, services, order="lifo").start == (0, 13, 12, 10)
    assert simulate(arrivals, services, order="shortest").start == (0, 13, 10, 11)
    assert len({simulate(arrivals, services, order="random", seed=seed).start for seed in range(40)}) == 6
    assert simulate(arrivals, services, servers=2).start == (0, 1, 4, 5)
    assert simulate([0, 0, 0], [5, 2, 2], order="shortest").start == (4, 0, 2)


def test_the_number_inside_step_by_step():
    run = simulate([0, 1, 4], [2, 2, 1])
    assert run.steps == ((0, 1), (1, 2), (2, 1), (4, 0), (4, 1), (5, 0))
    assert (run.area_by_time, run.area_by_request, run.span) == (6, 6, 5)
    assert (run.rate, run.in_flight, run.mean) == (3 / 5, 6 / 5, 2.0)
    assert run.times == (2, 3, 1) and run.quantile(0.5) == 2 and run.quantile(0.99) == 3


@given(lines, servers, orders, fractions, fractions)
def test_a_window_names_what_its_edges_cut_off(line, servers, order, begin, length):
    run = run_of(line, servers, order)
    window = run.within(begin, begin + length)
    assert window.area == window.by_request + window.edge
    assert window.before >= 0 and window.after >= 0 and window.span == length
    assert window.arrivals == sum(begin <= arrived < begin + length for arrived in run.arrive)
    inside = sum(max(min(b, begin + length) - max(a, begin), 0) * n for (a, n), (b, _) in zip(run.steps, run.steps[1:], strict=False))
    assert window.area == inside


def test_a_window_from_empty_to_empty_has_no_edge():
    run = simulate([1, 2, 9], [3, 3, 2])
    whole = run.within(1, max(run.leave))
    assert (whole.edge, whole.before, whole.after, whole.area) == (0, 0, 0, run.area_by_request)
    cut = run.within(3, 5)  # both are inside all along: one leaves at 4, the other at 7
    assert (cut.area, cut.arrivals, cut.by_request, cut.before, cut.after) == (3, 0, 0, 3, 0)
    late = run.within(0, 3)
    assert (late.area, late.arrivals, late.by_request, late.after, late.edge) == (3, 2, 8, 5, -5)


def test_last_come_first_served_keeps_the_mean_and_stretches_the_tail():
    arrivals, services = poisson(0.8, 20_000, seed=0), [1.0] * 20_000
    first, last, any_ = (simulate(arrivals, services, order=order) for order in ("fifo", "lifo", "random"))
    assert first.mean == pytest.approx(last.mean, rel=1e-12) and first.mean == pytest.approx(any_.mean, rel=1e-12)
    assert 2 < last.quantile(0.99) / first.quantile(0.99) < 3.5
    assert first.quantile(0.99) < any_.quantile(0.99) < last.quantile(0.99)


def test_shortest_first_has_the_smaller_mean():
    arrivals, services = poisson(0.8, 20_000, seed=1), lognormal(2, 20_000, 1.0, 1.0)
    assert simulate(arrivals, services, order="shortest").mean < 0.8 * simulate(arrivals, services).mean


def test_one_server_equals_lindleys_recursion_and_meets_pollaczek_and_khinchine():
    n, service, rate, sigma = 100_000, 5e-3, 160.0, 0.8
    arrivals, services = poisson(rate, n, seed=3), lognormal(4, n, service, sigma)
    steps = np.asarray(services[:-1]) - np.diff(arrivals)
    walk = np.concatenate([[0.0], np.cumsum(steps)])
    waits = walk - np.minimum.accumulate(walk)
    run = simulate(arrivals, services)
    assert np.allclose(waits, np.subtract(run.start, arrivals), atol=1e-9)
    exact = mg1_mean(rate, service, math.exp(sigma**2) - 1)
    assert exact == pytest.approx(23.96e-3, abs=5e-6)
    assert run.mean == pytest.approx(exact, rel=0.06)


def test_ranks():
    assert [ranked(range(1, 101), p) for p in (0.001, 0.01, 0.5, 0.501, 0.99, 0.999)] == [1, 1, 50, 51, 99, 100]
    for p in (0, 1, 1.5):
        with pytest.raises(BadValue, match="between 0 and 1"):
            ranked([1], p)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([], []), "at least one"), (([0, 1], [1]), "2 arrivals and 1 services"), (([1, 0], [1, 1]), "sort them"),
        (([0, math.nan], [1, 1]), "sort them"),
        (([0], [-1]), "finite times"), (([0], [math.inf]), "finite times"), (([0], [math.nan]), "finite times"),
        (([0], [1], 0), "servers is 0"), (([0], [1], True), "servers is True"), (([0], [1], 1.5), "servers is 1.5"),
        (([0], [1], 1, "best"), "choose from fifo, lifo, random, shortest"),
    ],
)  # fmt: skip
def test_what_makes_no_line_is_refused(arguments, says):
    with pytest.raises(BadValue, match=says):
        simulate(*arguments)
