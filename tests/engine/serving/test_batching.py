"""A server that batches: hand-made streams, its limits, and M/D/1 where a batch is one request."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.serving import batching
from ironlaw.engine.serving.batching import batch_server, full_times, poisson
from ironlaw.engine.serving.line import simulate
from ironlaw.engine.serving.queues import md1
from ironlaw.errors import BadValue

T = 3.55e-3
FLAT = {1: T, 64: T}
GROWING = {1: 1e-3, 8: 2e-3, 64: 10e-3}


@given(st.floats(1, 5000), st.integers(0, 5))
def test_with_a_flat_time_everybody_is_served_within_two_passes(rate, seed):
    served = batch_server(rate, FLAT, 64, n=2000, seed=seed)
    assert served.latencies[0] >= T * (1 - 1e-9) and served.latencies[-1] <= 2 * T * (1 + 1e-9)


def test_always_busy_and_hardly_loaded():
    slow, fast = (batch_server(rate, FLAT, 64) for rate in (1_000, 10_000))
    assert slow.busy > 0.98 and fast.busy > 0.999
    assert (slow.load, fast.load) == pytest.approx((1_000 * T / 64, 10_000 * T / 64))
    assert fast.mean == pytest.approx(1.5 * T, rel=0.01) and fast.quantile(0.99) == pytest.approx(1.99 * T, rel=0.01)
    assert fast.quantile(0.99) / slow.quantile(0.99) == pytest.approx(1, abs=0.01)
    assert fast.batch == pytest.approx(10_000 * T, rel=0.02)


def test_one_by_one_is_the_line_with_fixed_service():
    served, exact = batch_server(120, {1: 5e-3}, 1, n=50_000, seed=4), md1(120, 5e-3)
    assert served.mean == pytest.approx(exact.mean, rel=0.03)
    assert served.quantile(0.99) == pytest.approx(exact.quantile(0.99), rel=0.08)
    assert served.busy == pytest.approx(0.6, rel=0.01) and served.batch == 1.0


@given(st.floats(0.1, 2.8), st.integers(1, 3))
def test_one_by_one_equals_a_line_request_by_request(rate, replicas):
    served = batch_server(rate, {1: 1.0, 4: 1.5}, 4, policy="one", replicas=replicas, n=300) if rate < replicas else None
    if served:
        run = simulate(poisson(rate, 300), [1.0] * 300, replicas)
        assert served.latencies == pytest.approx(sorted(run.times[30:]))
        assert served.busy == pytest.approx(300 / (replicas * max(run.leave)))


@pytest.fixture
def stream(monkeypatch):
    """Ten hand-made arrivals; nothing is left out at the start."""
    monkeypatch.setattr(batching, "START", 0.0)
    monkeypatch.setattr(batching, "poisson", lambda *_: (0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 5.3, 5.4, 9.0, 9.9))


TIMES = {1: 1.0, 2: 1.5, 4: 2.0}


@pytest.mark.parametrize(
    ("settings", "latencies", "batches", "work"),
    [
        # 0.0 alone at once; 0.1 and 0.2 at 1.0; 5.0 alone; four at 6.0; 9.0; 9.9 at 10.0
        ({"policy": "waiting"}, [1.0, 2.4, 2.3, 1.0, 2.9, 2.8, 2.7, 2.6, 1.0, 1.1], 6, 7.5),
        # full at 5.0 (four), full at 9.0 (5.1, 5.2, 5.3, 5.4 were there at 5.4, free at 7.0); the last two never fill a batch
        ({"policy": "fixed"}, [7.0, 6.9, 6.8, 2.0, 3.9, 3.8, 3.7, 3.6], 2, 4.0),
        # the first waits 0.15: two by then
        ({"policy": "timeout", "timeout": 0.15}, [1.65, 1.55, 2.45, 1.65, 1.55, 3.2, 3.1, 3.0, 1.15, 1.25], 6, 7.75),
        ({"policy": "one"}, [1.0, 1.9, 2.8, 1.0, 1.9, 2.8, 3.7, 4.6, 2.0, 2.1], 10, 10.0),
        ({"policy": "waiting", "replicas": 2}, [1.0, 1.0, 1.8, 1.0, 1.0, 2.55, 2.45, 2.35, 1.0, 1.0], 8, 8.75),
    ],
)  # fmt: skip
def test_policies_by_hand(stream, settings, latencies, batches, work):
    served = batch_server(0.5, TIMES, 4, n=10, **settings)
    assert served.latencies == pytest.approx(sorted(latencies))
    assert served.batch == pytest.approx(len(latencies) / batches)
    last = {"fixed": 9.0}.get(settings["policy"])
    end = last or max(a + w for a, w in zip((0, 0.1, 0.2, 5, 5.1, 5.2, 5.3, 5.4, 9, 9.9), latencies, strict=True))
    assert served.busy == pytest.approx(work / (settings.get("replicas", 1) * end))
    assert served.mean == pytest.approx(sum(latencies) / len(latencies))


def test_a_timeout_of_nothing_takes_what_waits_and_one_without_end_waits_for_the_full_batch():
    rate = 300
    assert batch_server(rate, GROWING, 8, policy="timeout", n=4000) == batch_server(rate, GROWING, 8, policy="waiting", n=4000)
    full, patient = (batch_server(rate, GROWING, 8, policy=p, timeout=1e6, n=4000) for p in ("fixed", "timeout"))
    assert full.latencies == pytest.approx(patient.latencies) and full.batch == 8.0


def test_a_timeout_is_of_one_policy_alone_and_a_seed_is_a_stream():
    assert batch_server(300, GROWING, 8, timeout=1.0, n=400) == batch_server(300, GROWING, 8, n=400)
    assert batch_server(300, GROWING, 8, n=400, seed=1).latencies != batch_server(300, GROWING, 8, n=400).latencies


def test_a_run_of_a_few_milliseconds():
    """The time of the whole run is that of its last departure, on one line or on four."""
    served, run = batch_server(1000, {1: 5e-4}, 1, n=40), simulate(poisson(1000, 40), [5e-4] * 40)
    assert served.busy == pytest.approx(40 * 5e-4 / run.leave[-1]) and run.leave[-1] < 0.1
    each = batch_server(1000, {1: 5e-4}, 1, n=40, replicas=4, split_lines=True)
    assert len(each.latencies) >= 36 and 0.5 * 40 * 5e-4 / 4 < each.busy * run.leave[-1] < 1.5 * 40 * 5e-4 / 4


def test_what_waits_beats_the_server_that_waits_for_a_full_batch():
    """500 a second in 32s: the lab upstream gives 35 ms for waiting to fill a batch that nobody needs to fill."""
    times = {1: 0.5e-3, 32: 3.6e-3}
    held, greedy = (batch_server(500, times, 32, policy=policy) for policy in ("fixed", "waiting"))
    assert held.mean == pytest.approx(31 / 2 / 500 + 3.6e-3, rel=0.05)
    assert greedy.mean < held.mean / 20 and greedy.capacity == held.capacity


def test_one_line_for_all_beats_a_line_each():
    one_line, each = (batch_server(7_000, {1: 1e-3}, 1, replicas=8, split_lines=split) for split in (False, True))
    assert one_line.mean < each.mean / 2 and one_line.quantile(0.99) < each.quantile(0.99) / 2
    assert each.busy == pytest.approx(one_line.busy, rel=0.05) and each.load == one_line.load
    alone = md1(7_000 / 8, 1e-3)
    assert each.mean == pytest.approx(alone.mean, rel=0.15)


def test_bursts_come_together_and_wait_longer():
    smooth, burst = poisson(100, 3000, 1, 0), poisson(100, 3000, 10, 0)
    assert len(burst) == 3000 and len(set(burst)) == 300 and sorted(burst) == list(burst)
    assert smooth[-1] == pytest.approx(burst[-1], rel=0.2) and smooth[-1] == pytest.approx(30, rel=0.1)
    assert len(poisson(100, 25, 10)) == 25
    calm, rough = (batch_server(100, {1: 5e-3}, 1, burst=b) for b in (1, 10))
    assert rough.mean > 3 * calm.mean


def test_a_line_without_end():
    served = batch_server(20_000, FLAT, 64)
    assert served.mean == served.quantile(0.5) == math.inf and not served.stable
    assert (served.capacity, served.busy, served.batch, served.latencies) == (64 / T, 1.0, 64.0, ())
    assert served.growth == pytest.approx(20_000 - 64 / T) and served.waiting_after(3600) == pytest.approx(3600 * served.growth)
    assert batch_server(64 / T, FLAT, 64).mean == math.inf and batch_server(64 / T, FLAT, 64).latencies == ()
    calm = batch_server(10_000, FLAT, 64)
    assert calm.growth == calm.waiting_after(60) == 0.0 and calm.stable
    assert batch_server(20_000, FLAT, 64, replicas=2).stable


def test_times_between_the_sizes_given():
    assert full_times({1: 1.0, 3: 2.0, 4: 4.0}, 4) == (0.0, 1.0, 1.5, 2.0, 4.0)
    assert full_times({4: 4.0, 1: 1.0}, 2) == (0.0, 1.0, 2.0)
    for times, most in (({2: 1.0}, 2), ({1: 1.0}, 2), ({}, 1)):
        with pytest.raises(BadValue, match=r"give T\(1\)"):
            full_times(times, most)
    with pytest.raises(BadValue, match=r"T\(2\) is 0"):
        full_times({1: 1.0, 2: 0}, 2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": 0}, "rate is 0"), ({"most": 0}, "most is 0"), ({"most": 2.5}, "most is 2.5"),
        ({"policy": "best"}, "choose from one, fixed, waiting"),
        ({"timeout": -1}, "timeout is -1"), ({"replicas": 0}, "replicas is 0"), ({"burst": True}, "burst is True"), ({"n": 0}, "n is 0"),
        ({"policy": "fixed", "n": 7}, "never fill a batch of 8"),
    ],
)  # fmt: skip
def test_what_no_server_can_do_is_refused(changes, says):
    with pytest.raises(BadValue, match=says):
        batch_server(**{"rate": 10, "times": GROWING, "most": 8, "n": 100} | changes)


@pytest.mark.parametrize(("rate", "replicas"), [(0.0005, 1), (0.5, 8), (0.01, 2)])
def test_where_nobody_waits_the_short_way_is_the_long_one(monkeypatch, rate, replicas):
    short = batch_server(rate, TIMES, 4, n=400, replicas=replicas)
    assert set(short.latencies) == {1.0}
    monkeypatch.setattr(batching, "_closest", lambda *_: 0.0)
    long = batch_server(rate, TIMES, 4, n=400, replicas=replicas)
    assert short.latencies == pytest.approx(long.latencies)
    assert (short.busy, short.batch) == pytest.approx((long.busy, long.batch))


def test_two_that_come_together_are_one_batch_wherever_a_server_is_free():
    assert set(batch_server(0.001, TIMES, 4, n=40, replicas=4, burst=2).latencies) == {1.5}
    assert set(batch_server(0.001, TIMES, 4, n=40, replicas=4, burst=2, policy="one").latencies) == {1.0}


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"most": 0}, "most"), ({"policy": "best"}, "policy"), ({"policy": "fixed", "n": 7}, "n"), ({"most": 65}, "times")],
)
def test_the_setting_that_is_refused_is_named(changes, field):
    with pytest.raises(BadValue) as refused:
        batch_server(**{"rate": 10, "times": GROWING, "most": 8, "n": 100} | changes)
    assert refused.value.field == field
