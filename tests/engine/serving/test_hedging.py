"""Hedging: fates, and runs against an event-by-event reference, against theory and against each other."""

import math
from collections.abc import Callable

import pytest

from ironlaw.engine.serving.hedging import HedgedRun, hedge_fate, hedging_run, largest_budget
from ironlaw.engine.serving.tails import exponential_tail, hedge_load, hedged, quantile
from ironlaw.engine.streams import exponential, split, uniform
from ironlaw.errors import BadValue


def p95(rho: float, service: float = 0.01) -> float:
    return quantile(exponential_tail(service / (1 - rho)), 0.95)


def reference(rho: float, delay: float, budget: float | None, pause: float, cancelled: bool, n: int, shards: int) -> list[float]:
    """Steps of simulated time from event to event, every shard looked at each time: slow, and with nothing in common but the draws."""
    service = 0.01
    gaps = exponential(split(0, 0), n, rho * shards / service)
    arrive = [math.fsum(gaps[: i + 1]) for i in range(n)]
    works, draws = exponential(split(0, 2), 2 * n, 1 / service), uniform(split(0, 3), 2 * n)
    stops = arrive[int(0.2 * n)] if pause else math.inf
    lines: list[list[list[float]]] = [[] for _ in range(shards)]  # [request, work left]
    done: dict[int, float] = {}
    checks = [(t + delay, i) for i, t in enumerate(arrive)]
    now, tokens, a, c = 0.0, 0.0, 0, 0
    while len(done) < n:
        moving = not stops <= now < stops + pause
        ends = [now + line[0][1] for line in lines if line] if moving else []
        events = [*ends, *arrive[a : a + 1], *[t for t, _ in checks[c : c + 1]], *[t for t in (stops, stops + pause) if t > now]]
        then = min(events)
        if moving:
            for line in lines:
                if line:
                    line[0][1] -= then - now
        now = then
        for line in lines:
            if line and line[0][1] <= 1e-12 and moving:
                done.setdefault(int(line.pop(0)[0]), now)
        if cancelled:
            for line in lines:
                line[:] = [job for job in line if job[0] not in done]
        if a < n and arrive[a] == now:
            tokens = min(tokens + (budget or 0.0), 100)
            lines[int(draws[a] * shards)].append([a, works[a]])
            a += 1
        if c < n and checks[c][0] == now:
            i = checks[c][1]
            c += 1
            if i not in done and (budget is None or tokens >= 1):
                tokens -= 1
                lines[(int(draws[i] * shards) + 1 + int(draws[n + i] * (shards - 1))) % shards].append([i, works[n + i]])
    return [done[i] - arrive[i] for i in range(n)]


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize(("budget", "pause"), [(None, 0.0), (None, 0.05), (0.1, 0.05)])
def test_a_run_is_the_reference(budget: float | None, pause: float, cancelled: bool) -> None:
    run = hedging_run(0.6, 0.03, budget, cancelled, pause, shards=4, n=400)
    assert run.seconds == pytest.approx(reference(0.6, 0.03, budget, pause, cancelled, 400, 4), abs=1e-9)
    assert run.copies == sorted(run.copies)
    assert 0 < run.extra < 1


def test_the_line_is_where_twice_the_load_is_full() -> None:
    assert [hedge_fate(rho) for rho in (0.1, 0.49, 0.5, 0.7)] == ["safe", "safe", "stuck", "stuck"]
    assert [hedge_fate(0.7, budget) for budget in (0.0, 0.05, 0.42, 0.43, 5.0)] == ["safe", "safe", "safe", "stuck", "stuck"]
    assert hedge_fate(0.4, 5.0) == "safe"  # one copy each is the most there is
    assert hedge_fate(0.9, None, cancelled=True) == "safe"
    assert hedge_fate(1.0, 0.0) == "stuck"
    assert largest_budget(0.8) == pytest.approx(0.25)
    assert largest_budget(0.4) == 1.0
    assert largest_budget(2.0) == 0.0
    for rho in (0.55, 0.7, 0.9):
        assert hedge_fate(rho, largest_budget(rho) - 1e-9) == "safe"
        assert hedge_fate(rho, largest_budget(rho) + 1e-9) == "stuck"


@pytest.mark.parametrize(
    ("rho", "budget", "cancelled"), [(0.45, None, False), (0.55, None, False), (0.7, 0.05, False), (0.7, None, False), (0.7, None, True)]
)
def test_after_a_pause_the_simulation_agrees(rho: float, budget: float | None, cancelled: bool) -> None:
    run = hedging_run(rho, p95(rho), budget, cancelled, pause=1.0, n=30_000)
    ordinary = quantile(exponential_tail(0.01 / (1 - rho)), 0.99)
    fate = "stuck" if run.last_median() > ordinary else "safe"
    assert fate == hedge_fate(rho, budget, cancelled)


def test_independent_leaves_gain_what_theory_says() -> None:
    """Copies add load, which theory leaves out: within a tenth, and more copies than the first P(X > d)."""
    tail, delay = exponential_tail(0.01 / 0.5), p95(0.5)
    plain, run = hedging_run(0.5, n=30_000), hedging_run(0.5, delay, n=30_000)
    assert plain.extra == 0
    assert plain.quantile(0.99) == pytest.approx(quantile(tail, 0.99), rel=0.1)
    assert run.quantile(0.999) == pytest.approx(quantile(hedged(tail, delay), 0.999), rel=0.1)
    assert hedge_load(tail, delay) == pytest.approx(0.05)
    assert 0.05 < run.extra < 0.07
    assert run.quantile(0.999) < plain.quantile(0.999)


def test_a_copy_that_is_called_back_costs_less() -> None:
    plain, called_back = (hedging_run(0.7, p95(0.7), cancelled=cancelled, n=20_000) for cancelled in (False, True))
    assert called_back.extra < plain.extra
    assert called_back.quantile(0.99) < plain.quantile(0.99)


def test_windows_account_for_every_request() -> None:
    run = HedgedRun([1.0, 2.0, 3.0, 4.0], [0.1, 0.2, 0.3, 0.4], [2.5], 1.0)
    first, second = run.windows(0.2, 2)
    assert (first.until, first.load, first.late, first.median) == (2.0, 0.5, 0.0, 0.1)
    assert (second.until, second.load, second.late, second.median) == (4.0, 2.0, pytest.approx(2 / 3), 0.3)
    assert run.last_median() == 0.4
    assert run.last_median(0.5) == 0.3
    assert run.quantile(0.5) == 0.2
    stuck = hedging_run(0.7, p95(0.7), pause=1.0, n=20_000).windows(p95(0.7))
    assert stuck[0].late < 0.2 and stuck[-1].late > 0.95
    assert stuck[0].load < 1 < stuck[-1].load


def test_own_service_times_are_taken_as_they_are() -> None:
    run = hedging_run(0.5, service=1.0, shards=2, n=10, works=[1.0] * 20)
    assert min(run.seconds) == pytest.approx(1.0)
    assert run.capacity == 2.0


REFUSALS = [
    (
        lambda: hedging_run(1.0),
        "the fleet's utilisation is 1.0; give a share between 0 and 1, because at 1 the queue grows even without copies",
    ),
    (
        lambda: hedging_run(0.0),
        "the fleet's utilisation is 0.0; give a share between 0 and 1, because at 1 the queue grows even without copies",
    ),
    (lambda: hedging_run(0.5, -1.0), "the delay before a copy is -1.0; give a finite number of at least 0"),
    (lambda: hedging_run(0.5, 1.0, -0.1), "budget is -0.1; give a finite number of at least 0"),
    (lambda: hedging_run(0.5, pause=-1.0), "pause is -1.0; give a finite number of at least 0"),
    (lambda: hedging_run(0.5, shards=1), "20000 requests to 1 shards; a copy needs another shard and a run at least 10 requests"),
    (lambda: hedging_run(0.5, n=9), "9 requests to 50 shards; a copy needs another shard and a run at least 10 requests"),
    (lambda: hedging_run(0.5, service=0.0), "service is 0.0; give a finite number above 0"),
    (lambda: hedging_run(0.5, n=10, works=[]), "0 service times for 10 requests; give 20: those of the requests, then of their copies"),
    (lambda: hedge_fate(0.0), "utilisation is 0.0; give a finite number above 0"),
    (lambda: hedge_fate(0.5, -1.0), "budget is -1.0; give a finite number of at least 0"),
    (lambda: largest_budget(0.0), "utilisation is 0.0; give a finite number above 0"),
]


@pytest.mark.parametrize(("call", "words"), REFUSALS)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(BadValue) as refusal:
        call()
    assert str(refusal.value) == words


def test_the_smallest_run() -> None:
    """Two shards, ten requests, a budget and a delay of nothing: what is not answered at once is copied while the budget lasts."""
    run = hedging_run(0.5, 0.0, 0.0, shards=2, n=10)
    assert run.extra == 0 and run.n == 10
    assert hedging_run(0.5, 0.0, shards=2, n=10).extra == 1.0
    held = hedging_run(0.5, 0.0, 0.5, shards=2, n=400)
    assert 0.49 <= held.extra <= 0.5
    called_back = hedging_run(0.5, 0.0, 0.5, True, shards=2, n=400)
    assert 0.49 <= called_back.extra <= 0.5
    saved = hedging_run(0.1, 0.2, 0.9, pause=2.0, shards=2, n=400)  # calm for a fifth of it: the budget holds back no more than a hundred
    assert saved.quantile(0.5) < 2.0


def test_a_run_stays_late_where_half_of_its_last_requests_are_slower_than_ninety_nine_of_a_hundred_on_an_ordinary_day() -> None:
    day = HedgedRun(tuple(range(100)), tuple(range(1, 101)), (), 1.0)  # P99 is 99 seconds

    def ending(*seconds: float) -> HedgedRun:
        return HedgedRun(tuple(range(100)), (1.0,) * 90 + seconds, (), 1.0)

    assert ending(*[150.0] * 10).stays_late(day) and not ending(*[98.0] * 10).stays_late(day)
    assert not ending(*[1.0] * 6, *[500.0] * 4).stays_late(day)  # the median counts, not the mean
