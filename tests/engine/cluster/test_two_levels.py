"""Saves at two places against a run that is drawn failure by failure, and against the one-level law where one place is never used."""

import math
import random
from dataclasses import replace

import pytest

from ironlaw.engine.cluster import failures, two_levels
from ironlaw.engine.cluster.failures import Level, Shares, two_level
from ironlaw.engine.cluster.two_levels import Period
from ironlaw.errors import BadValue

NEAR, FAR = Level(5.0, 60.0), Level(60.0, 300.0)


def drawn(period: Period, lives: int, seed: int = 3) -> dict[str, float]:
    """Seconds by kind: a state machine with the next failure on its clock; a job that falls back to the far copy does the lag again."""
    source = random.Random(seed)
    left = source.expovariate(1 / period.between)
    spent = dict.fromkeys(("work", "save", "restart", "rest"), 0.0)
    at, state = 0, "run"
    while lives:
        if state == "run":
            save = period.far.save if at == period.count - 1 else period.near.save
            need = period.interval + save
        else:
            need = period.near.restart if state == "near" else period.far.restart + period.lag
        if left < need:
            lives -= 1
            kind = "rest" if state == "run" else "restart"
            if state == "far":
                spent["restart"] += left * period.far.restart / need
                spent["rest"] += left * period.lag / need
            else:
                spent[kind] += left
            state = "far" if state == "far" or source.random() > period.survives else "near"
            if state == "far":  # what near saves had kept is gone as well
                spent["rest"] += at * period.interval + at * period.near.save
                spent["work"] -= at * period.interval
                spent["save"] -= at * period.near.save
                at = 0
            left = source.expovariate(1 / period.between)
            continue
        left -= need
        if state == "run":
            spent["work"] += period.interval
            spent["save"] += save
            at = (at + 1) % period.count
        elif state == "far":
            spent["restart"] += period.far.restart
            spent["rest"] += period.lag
        else:
            spent["restart"] += need
        state = "run"
    return spent


@pytest.mark.parametrize(
    "period",
    [
        Period(6, 300.0, NEAR, FAR, 0.8, 10_000.0), Period(8, 200.0, NEAR, FAR, 0.95, 4_000.0), Period(3, 600.0, NEAR, FAR, 0.5, 2_000.0),
        Period(4, 300.0, NEAR, FAR, 0.7, 4_000.0, lag=120.0), Period(1, 900.0, NEAR, FAR, 0.0, 4_000.0),
    ],
)  # fmt: skip
def test_a_drawn_run_spends_its_time_as_the_law_says(period: Period) -> None:
    spent = drawn(period, 8_000)
    whole = sum(spent.values())
    law = two_levels.goodput(period)
    assert law.total == pytest.approx(1, abs=1e-12)
    assert spent["work"] / whole == pytest.approx(law.goodput, rel=0.02)
    assert spent["save"] / whole == pytest.approx(law.writing, rel=0.03)
    assert spent["restart"] / whole == pytest.approx(law.restart, rel=0.04)


@pytest.mark.parametrize(("survives", "level"), [(0.0, FAR), (1.0, NEAR)])
def test_one_place_alone_is_the_one_level_law(survives: float, level: Level) -> None:
    alone = two_levels.goodput(Period(1, 700.0, level, level, survives, 9_000.0))
    law = failures.goodput(700.0, level.save, level.restart, 9_000.0)
    assert [alone.goodput, alone.writing, alone.restart, alone.lost] == pytest.approx([law.goodput, law.writing, law.restart, law.lost])


def test_first_order_is_its_limit() -> None:
    """Where failures are rare, the sum of the first-order parts; the best intervals are Young's for the failures that each place serves."""
    between = 4e6
    often, seldom, share = two_level(NEAR, FAR, 0.9, between)
    count = round(seldom / often)
    exact = two_levels.goodput(Period(count, often, NEAR, FAR, 0.9, between)).goodput
    assert exact == pytest.approx(share, abs=2e-4)
    for factor in (0.5, 2.0):
        assert two_levels.goodput(Period(max(1, round(count / factor)), often * factor, NEAR, FAR, 0.9, between)).goodput < exact


def test_more_is_lost_with_more_failures_slower_starts_and_longer_lags() -> None:
    start = Period(6, 300.0, NEAR, FAR, 0.8, 10_000.0)
    base = two_levels.goodput(start).goodput
    worse = (
        replace(start, between=5_000.0), replace(start, far=Level(60.0, 900.0)), replace(start, near=Level(5.0, 90.0)),
        replace(start, lag=200.0), replace(start, survives=0.5), replace(start, near=Level(15.0, 60.0)),
    )  # fmt: skip
    for period in worse:
        assert two_levels.goodput(period).goodput < base


def test_no_progress_and_bad_settings() -> None:
    assert two_levels.goodput(Period(1, 1e6, NEAR, FAR, 0.5, 100.0)) == Shares(0.0, 0.0, 0.0, 1.0)
    assert two_levels.goodput(Period(4, 900.0, NEAR, FAR, 0.0, 100.0)) == Shares(
        0.0, 0.0, 0.0, 1.0
    )  # one stretch ends, never four in a row
    with pytest.raises(BadValue, match="at least 1"):
        Period(0, 10.0, NEAR, FAR, 0.5, 100.0)
    with pytest.raises(BadValue, match="0 to 1"):
        Period(1, 10.0, NEAR, FAR, 1.5, 100.0)


def test_what_a_save_stops_and_a_restart_takes_by_hand():
    near, far = two_levels.levels(copying=2.0, drain=50.0, pause=1.0, start=300.0, drains=False)
    assert (near.save, near.restart, far.save, far.restart) == (3.0, 302.0, 51.0, 350.0)
    assert two_levels.levels(2.0, 50.0, 1.0, 300.0, True)[1].save == 3.0  # the job waits for the copy alone
    often = two_levels.period(near, far, 60.0, 600.0, 0.9, 1e4, 50.0)
    assert (often.count, often.interval, often.lag) == (10, 60.0, 50.0)
    assert two_levels.period(near, far, 600.0, 600.0, 0.9, 1e4).count == two_levels.period(near, far, math.inf, 600.0, 0.0, 1e4).count == 1


@pytest.mark.parametrize("survives", [0.2, 0.9])
def test_to_first_order_each_place_wastes_for_its_own_failures(survives):
    period = Period(20, 60.0, NEAR, FAR, survives, 1e6)
    alone = failures.waste(60.0, NEAR.save, NEAR.restart, 1e6 / survives)
    far = failures.waste(1200.0, FAR.save, FAR.restart, 1e6 / (1 - survives))
    assert two_levels.waste(period) == pytest.approx(alone + far)
    assert two_levels.waste(replace(period, lag=500.0)) == pytest.approx(alone + far + (1 - survives) * 500.0 / 1e6)
    once = replace(period, count=1, interval=1200.0, survives=0.0)
    assert two_levels.waste(once) == pytest.approx(failures.waste(1200.0, FAR.save, FAR.restart, 1e6))
