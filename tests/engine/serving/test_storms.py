"""A spike that retries keep alive, its cures, the simulator beside a plain line, and availability by hand."""

import math
from dataclasses import replace

import pytest

from ironlaw.engine.serving.availability import downtime, in_series, replicated
from ironlaw.engine.serving.line import simulate
from ironlaw.engine.serving.retries import attempts, largest_retries, stuck
from ironlaw.engine.serving.storms import Storm, _Run, calm, run_storm
from ironlaw.engine.streams import exponential, split
from ironlaw.errors import BadValue


def test_layers_multiply_attempts():
    assert attempts(1.0, 3, 3) == 64 and attempts(0.5, 3) == 1.875 and attempts(0.0, 5, 4) == 1 and attempts(0.5, 1, 2) == 2.25


def test_late_work_that_keeps_itself_up():
    assert not stuck(0.2, 3) and stuck(0.26, 3) and stuck(0.25, 3) and not stuck(0.8, 3, 0.1) and stuck(0.8, 3, 0.25) and not stuck(0.8, 0)
    assert largest_retries(0.8) == pytest.approx(0.25) and largest_retries(2.0) == 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_spike_of_ten_seconds_never_ends(seed):
    """The key: load 0.8 again, three retries, a plain line; nobody is answered in time in any of the ten windows after it."""
    outcome = run_storm(Storm(seed=seed))
    assert [good for end, _, good in outcome.windows() if end > 30] == [0.0] * 10 and outcome.back_after() == math.inf
    assert outcome.goodput(0, 20) > 0.7 and outcome.windows()[-1][1] > 1.5


@pytest.mark.parametrize(
    ("change", "within"),
    [({"retries": 0}, 40), ({"budget": 0.1}, 90), ({"limit": 40}, 10), ({"order": "lifo"}, 10), ({"breaker": 0.5}, 10),
     ({"called_back": True}, 60)],
)  # fmt: skip
def test_what_brings_it_back(change, within):
    assert run_storm(Storm(**change)).back_after() <= within


def test_below_a_quarter_of_the_load_three_retries_are_harmless_in_the_end():
    mild = Storm(load=0.2, spike=2.0, begins=5.0, lasts=2.0, until=127.0)
    assert run_storm(mild).back_after() <= 110 and not stuck(0.2, 3)
    assert run_storm(replace(mild, load=0.3)).back_after() == math.inf and stuck(0.3, 3)


def test_without_a_timeout_it_is_a_plain_line():
    storm = Storm(load=0.5, spike=0.5, timeout=1e9, retries=0, until=100.0, seed=3)
    outcome = run_storm(storm)
    n = outcome.requests
    gaps, services = exponential(split(3, 0), n), exponential(split(3, 1), n, 100.0)
    arrive, now = [], 0.0
    for gap in gaps:
        now += gap / 50.0
        arrive.append(now)
    plain = simulate(arrive, services)
    answered = len(outcome.waits)
    assert n - answered < 20 and list(outcome.waits) == pytest.approx(list(plain.times[:answered]))
    assert sum(outcome.waits) / answered == pytest.approx(1 / 50, rel=0.06)
    assert len(outcome.good) == answered and calm(Storm()).spike == 0.8


@pytest.mark.parametrize(
    "change",
    [{}, {"retries": 0}, {"budget": 0.1}, {"limit": 40}, {"limit": 40, "backoff": 0.2}, {"backoff": 1.0}, {"budget": 0.3, "backoff": 0.1},
     {"load": 1.2}, {"load": 0.1, "timeout": 0.05}, {"limit": 1, "budget": 0.5, "seed": 1}],
)  # fmt: skip
def test_attempt_by_attempt_is_event_by_event(change):
    storm = Storm(begins=5.0, lasts=5.0, until=40.0, **change)
    assert run_storm(storm) == _Run(storm).outcome()


@pytest.mark.parametrize(("load", "until", "within"), [(0.5, 2000.0, 0.02), (0.8, 1500.0, 0.05)])
def test_the_line_is_the_textbooks(load, until, within):
    """M/M/1: a mean of 1 / (μ − λ), and L = λW with L counted moment by moment."""
    outcome = run_storm(Storm(load=load, spike=load, timeout=1e9, retries=0, until=until))
    mean = math.fsum(outcome.waits) / len(outcome.waits)
    assert mean == pytest.approx(1 / (100 * (1 - load)), rel=within)
    inside, spent, before = 0, 0.0, 0.0
    for now, change in sorted([(t, 1) for t in outcome.sent] + [(t, -1) for t in outcome.good]):
        spent += inside * (now - before)
        inside, before = inside + change, now
    assert spent / before == pytest.approx(outcome.requests / until * mean, rel=2e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_how_long_it_takes_to_come_back(seed):
    """Later than the fluid limit has it: retries 30 to 40 s after the spike's end, with a tenth of retries 60 to 90 s."""
    assert run_storm(Storm(retries=0, seed=seed)).back_after() in (30, 40)
    assert run_storm(Storm(budget=0.1, seed=seed)).back_after() in (60, 70, 80, 90)
    assert run_storm(Storm(limit=40, seed=seed)).back_after() == run_storm(Storm(order="lifo", seed=seed)).back_after() == 10


def test_backoff_delays_and_a_budget_counts():
    late = run_storm(Storm(budget=0.1))
    assert len(late.sent) <= 1.1 * late.requests + 100
    slow = run_storm(Storm(load=0.5, spike=0.5, timeout=0.001, retries=1, backoff=5.0, until=4.0))
    assert len(slow.sent) == slow.requests  # the second attempts would come after the end


def test_availability():
    assert in_series([0.999] * 5) == pytest.approx(0.99501, abs=5e-6)
    assert replicated(0.999, 2) == pytest.approx(0.999999, abs=1e-12) and replicated(0.999, 2, common=0.1) == pytest.approx(
        0.999899, abs=5e-7
    )
    assert replicated(0.99, 3, 2) == pytest.approx(0.99**3 + 3 * 0.99**2 * 0.01) and replicated(0.9, 1, common=0.5) == 0.9
    assert replicated(0.999, 5, common=1.0) == pytest.approx(0.999) and downtime(0.999) == pytest.approx(31_557.6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: attempts(1.1, 3), "from 0 to 1"), (lambda: attempts(0.5, -1), "at least 0"), (lambda: attempts(0.5, 1, 0), "at least 1"),
        (lambda: stuck(0, 3), "above 0"), (lambda: in_series([]), "at least one"), (lambda: in_series([1.2]), "0.999"),
        (lambda: replicated(0.9, 2, 3), "no more than there are"), (lambda: run_storm(Storm(load=0.0)), "load"),
        (lambda: run_storm(Storm(order="random")), "fifo"), (lambda: run_storm(Storm(retries=99)), "at most 10"),
        (lambda: run_storm(Storm(backoff=-1.0)), "backoff"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises(BadValue, match=words):
        call()
