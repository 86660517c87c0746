"""A hedged fleet by its law: against a published formula, fixed points by hand, and long runs of hedging with many shards."""

import math

import pytest

from ironlaw.engine.serving.hedged_fleet import cancelling_fleet, hedged_fleet
from ironlaw.engine.serving.hedging import hedging_run
from ironlaw.engine.serving.line import ranked
from ironlaw.engine.serving.queues import md1, mm1
from ironlaw.errors import BadValue


def test_copies_are_the_share_that_is_late_at_the_load_that_they_make() -> None:
    """c = e^(−(1 − ρ(1 + c))·d), by hand for M/M/1 at 70% with copies after the P95."""
    delay = -math.log(0.05) / 0.3
    fleet = hedged_fleet(0.7, delay, None, mm1)
    c = fleet.copies
    assert c == pytest.approx(math.exp(-(1 - 0.7 * (1 + c)) * delay), rel=1e-6) and 0.05 < c < 1 / (0.7 * delay)  # the least of two
    assert fleet.busy == pytest.approx(0.7 * (1 + c))
    t = fleet.quantile(0.9999)
    assert math.exp(-(1 - fleet.busy) * (2 * t - delay)) == pytest.approx(1e-4, rel=1e-6)


def test_a_budget_that_is_used_up_leaves_some_late_ones_without_a_copy() -> None:
    delay = -math.log(0.05) / 0.3
    fleet = hedged_fleet(0.7, delay, 0.05, mm1)
    late = math.exp(-(1 - 0.735) * delay)
    assert (fleet.copies, fleet.busy, fleet.granted) == (pytest.approx(0.05), pytest.approx(0.735), pytest.approx(0.05 / late))
    assert fleet.tail(40.0) == pytest.approx(math.exp(-0.265 * 40) * (1 - fleet.granted * (1 - math.exp(-0.265 * (40 - delay)))))
    assert fleet.tail(delay / 2) == pytest.approx(math.exp(-0.265 * delay / 2))
    assert hedged_fleet(0.7, delay, 0.5, mm1).granted == 1.0
    assert hedged_fleet(0.7, delay, 0.0, mm1).quantile(0.99) == pytest.approx(mm1(0.7, 1.0).quantile(0.99))


def test_copies_that_make_more_late_than_the_shards_can_do_never_end() -> None:
    """At 80% c = 0.05·e^(12c) has no solution."""
    fleet = hedged_fleet(0.8, -math.log(0.05) / 0.2, None, mm1)
    assert fleet.busy == 1.0 and math.isinf(fleet.quantile(0.5)) and fleet.copies == 1.0


@pytest.mark.parametrize(("load", "p"), [(0.7, 0.5), (0.7, 0.99), (0.3, 0.9), (0.9, 0.999)])
def test_two_at_once_are_the_published_law(load: float, p: float) -> None:
    """Gardner and others, Redundancy-d: P(T > t) = (ρ + (1 − ρ)·e^t)^−2 for two copies and infinitely many servers."""
    t = cancelling_fleet(load, 0.0, 1_000).quantile(p)
    assert (load + (1 - load) * math.exp(t)) ** -2 == pytest.approx(1 - p, rel=0.01)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("late", [0.5, 0.05, 0.001])
def test_five_hundred_steps_are_as_good_as_two_thousand_to_three_digits(load: float, late: float) -> None:
    delay = -math.log(late) / (1 - load)
    quick, slow = cancelling_fleet(load, delay), cancelling_fleet(load, delay, 2_000)
    for p in (0.5, 0.99, 0.9999):
        assert quick.quantile(p) == pytest.approx(slow.quantile(p), rel=2e-3)
    assert quick.copies == pytest.approx(slow.copies, rel=3e-3)


@pytest.mark.parametrize(
    ("load", "budget", "cancelled", "works"),
    [(0.3, None, False, None), (0.5, 0.02, False, None), (0.6, None, True, None), (0.5, None, False, "fixed")],
)
def test_a_long_run_of_many_shards_is_the_law(load: float, budget: float | None, cancelled: bool, works: str | None) -> None:
    line, n = (md1 if works else mm1), 100_000
    delay = line(load, 1.0).quantile(0.95)
    law = cancelling_fleet(load, delay) if cancelled else hedged_fleet(load, delay, budget, line)
    run = hedging_run(load, delay, budget, cancelled, service=1.0, shards=200, n=n, works=[1.0] * (2 * n) if works else None)
    steady = sorted(run.seconds[n // 5 :])
    for p, within in ((0.5, 0.03), (0.9, 0.03), (0.99, 0.08)):  # neighbours in a line are late together: a run's P99 is rough
        assert ranked(steady, p) == pytest.approx(law.quantile(p), rel=within)
    assert run.extra == pytest.approx(law.copies, rel=0.08)


def test_what_no_fleet_can_be_is_refused() -> None:
    for load, delay, budget in ((1.0, 1.0, None), (0.0, 1.0, None), (0.5, -1.0, None), (0.5, 1.0, -0.1)):
        with pytest.raises(BadValue):
            hedged_fleet(load, delay, budget, mm1)
