"""Servers that batch: where a closed form stands for a simulation, and how long one has to be."""

from dataclasses import replace

import pytest

from ironlaw.engine.serving.batch_outcomes import BatchServers
from ironlaw.engine.serving.batching import batch_server
from ironlaw.engine.serving.full_batches import FullBatches
from ironlaw.engine.serving.queues import md1

TIMES = ((1, 0.010), (8, 0.024))
ONE = BatchServers(TIMES, policy="one")


def test_one_by_one_is_the_closed_form_and_a_long_simulation_agrees():
    seen, line = ONE.outcome(70.0, 800, shares=(0.5, 0.9)), md1(70.0, 0.010)
    assert (seen.mean, seen.p99, seen.batch) == (line.mean, line.quantile(0.99), 1.0)
    assert seen.busy == pytest.approx(0.7) and seen.tail == ((line.quantile(0.5), 0.5), (line.quantile(0.9), pytest.approx(0.1)))
    simulated = batch_server(70.0, dict(TIMES), 1, policy="one", n=100_000)
    assert seen.mean == pytest.approx(simulated.mean, rel=0.05) and seen.p99 == pytest.approx(simulated.quantile(0.99), rel=0.1)


@pytest.mark.parametrize("change", [{"burst": 2}, {"policy": "timeout"}, {"most": 2}, {"replicas": 2}])
def test_only_poisson_arrivals_one_at_a_time_with_a_server_each_are_exact(change):
    assert ONE.exact and not replace(ONE, **change).exact
    assert replace(ONE, replicas=2, split_lines=True).exact


def test_a_line_each_is_one_line_with_its_share_of_the_rate():
    batched = replace(ONE, most=8, policy="waiting")
    split = replace(batched, replicas=4, split_lines=True)
    assert split.outcome(800.0, 500) == batched.outcome(200.0, 500)
    bursts = replace(split, burst=10)  # dealt one by one, a burst is not a burst in each line: simulated as it is
    assert bursts.outcome(800.0, 500) != replace(batched, burst=10).outcome(200.0, 500)
    assert split.capacity == pytest.approx(4 * 8 / 0.024)


def test_at_capacity_there_is_no_end():
    seen = ONE.outcome(100.0, 100)
    assert seen.mean == seen.p99 == float("inf") and seen.busy == 1.0 and ONE.outcome(99.0, 100).p99 < float("inf")


def test_a_simulation_is_long_enough():
    waiting = BatchServers(TIMES, 8)
    assert waiting.simulated(50.0, 100, 30) == 100  # hardly anybody waits
    assert waiting.simulated(150.0, 100, 30) == 240  # thirty full batches
    fixed = replace(waiting, policy="fixed", replicas=32)
    assert fixed.simulated(50.0, 10, 1) == 3 * 8 * 3  # 50 a second keep less than a server at work; two more for chance
    assert replace(fixed, split_lines=True).simulated(50.0, 10, 1) == 100 * 32
    assert replace(fixed, split_lines=True, most=64, times=((1, 0.01), (64, 0.1))).simulated(50.0, 10, 1) == 3 * 64 * 32


def test_full_batches_that_find_a_server_free_are_the_closed_form_and_a_long_simulation_agrees():
    fixed, rate = BatchServers(TIMES, 8, "fixed"), 20.0
    seen = fixed.outcome(rate, 800, shares=(0.5, 0.9))
    simulated = batch_server(rate, dict(TIMES), 8, policy="fixed", n=100_000, seed=3)
    assert (seen.mean, seen.p99) == (pytest.approx(simulated.mean, rel=0.01), pytest.approx(simulated.quantile(0.99), rel=0.02))
    assert [time for time, _ in seen.tail] == pytest.approx([simulated.quantile(p) for p in (0.5, 0.9)], rel=0.02)
    assert (seen.busy, seen.batch) == (pytest.approx(rate / fixed.capacity), 8.0)
    assert fixed.outcome(330.0, 800).p99 > FullBatches(330.0, 8, 0.024).quantile(0.99)  # one fills during the pass before, and waits for it
    assert not FullBatches(330.0, 8, 0.024).exact and FullBatches(rate, 8, 0.024).tail(0.0239) == 1.0
