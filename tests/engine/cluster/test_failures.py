"""Checkpoints: published figures, SciPy's Lambert W and minimiser, and a run that fails by the draw."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from ironlaw.engine.cluster.failures import Level, Shares, daly, draw, goodput, mtbf, optimum, series, two_level, wall, waste, young
from ironlaw.engine.cluster.job_timeline import Stretch, shares, strip
from ironlaw.errors import BadValue

META = 54 * 86400 / 419  # Llama 3: 419 unexpected interruptions in 54 days


@pytest.mark.parametrize(
    ("save", "between", "exact", "by_daly", "by_young"),
    [
        (120, 10_800, 1531.0, 1531.0, 1610.0), (240, 28_800, 3559.8, None, None), (2450, 18_000, 7834.2, 7829.2, None),
        (600, 600, 504.8, 495.7, 848.5),
    ],
)  # fmt: skip
def test_intervals(save: float, between: float, exact: float, by_daly: float | None, by_young: float | None) -> None:
    assert optimum(save, between) == pytest.approx(exact, abs=0.06)
    if by_daly:
        assert daly(save, between) == pytest.approx(by_daly, abs=0.06)
    if by_young:
        assert young(save, between) == pytest.approx(by_young, abs=0.06)


@given(st.floats(1e-7, 50.0))
def test_the_optimum_is_lamberts_and_nothing_beats_it(share: float) -> None:
    best = optimum(share, 1.0)
    if share > 1e-4:  # SciPy loses digits near the branch point
        assert best == pytest.approx(1 + lambertw(-math.exp(-1 - share)).real, rel=1e-6)
    least = wall(best, share, 0.0, 1.0)
    for factor in np.geomspace(0.01, 100, 40):
        assert wall(best * factor, share, 0.0, 1.0) >= least * (1 - 1e-12)


def test_limits() -> None:
    assert optimum(1e-4, 1.0) / young(1e-4, 1.0) == pytest.approx(1, rel=0.01)
    assert optimum(1e3, 1.0) == pytest.approx(1.0) and daly(2.0, 1.0) == 1.0
    assert young(60.0, 1e4) == 2 * young(60.0, 1e4 / 4)
    assert daly(np.array([120.0, 30_000.0]), 10_800.0) == pytest.approx([1530.96, 10_800], abs=0.01)
    for share, above in ((1e-4, 0.0047), (1e-3, 0.0151), (1e-2, 0.0488)):  # of the waste, a share of the wall time
        exact = 1 - 1 / wall(optimum(share, 1.0), share, 0.0, 1.0)
        assert waste(young(share, 1.0), share, 0.0, 1.0) / exact - 1 == pytest.approx(above, abs=1e-4)


def test_the_minimum_is_flat() -> None:
    best = young(60.0, 1e4)
    least = waste(best, 60.0, 0.0, 1e4)
    assert waste(2 * best, 60.0, 0.0, 1e4) / least == pytest.approx(1.25)
    assert waste(4 * best, 60.0, 0.0, 1e4) / least == pytest.approx(2.125)


def test_published_clusters() -> None:
    assert pytest.approx(3.093, abs=5e-4) == META / 3600 and pytest.approx(50_677, abs=1) == META * 16_384 / 3600
    assert pytest.approx(2.78, abs=5e-3) == 54 * 24 / 466
    node = 1000 * 86400 / 6.5  # RSC-1: 6.5 failures in 1,000 node-days of eight GPUs
    assert mtbf(node, 16_384 / 8) / 3600 == pytest.approx(1.8, abs=0.005) and mtbf(node, 131_072 / 8) / 3600 == pytest.approx(
        0.23, abs=0.006
    )
    assert optimum(60.0, META) == pytest.approx(1116, abs=1)
    assert goodput(optimum(30.0, META), 30.0, 300.0, META).goodput == pytest.approx(0.9037, abs=5e-5)
    assert goodput(optimum(60.0, META), 60.0, 600.0, META).goodput == pytest.approx(0.8526, abs=6e-5)


@given(st.floats(1, 1e4), st.floats(0.1, 1e3), st.floats(0, 1e3), st.floats(1e3, 1e6))
def test_shares_add_up_and_goodput_only_falls(interval: float, save: float, restart: float, between: float) -> None:
    shares = goodput(interval, save, restart, between)
    assert shares.total == pytest.approx(1, abs=1e-12) and shares.lost >= -1e-12
    assert goodput(interval, save * 1.1, restart, between).goodput <= shares.goodput
    assert goodput(interval, save, restart + 1, between).goodput <= shares.goodput
    assert goodput(interval, save, restart, between * 1.1).goodput >= shares.goodput


def simulated(interval: float, save: float, restart: float, between: float, failures: int) -> float:
    """Wall seconds a second of work, run failure by failure."""
    source, now, work, count = random.Random(7), 0.0, 0.0, 0
    left = source.expovariate(1 / between)
    starting = 0.0
    while count < failures:
        need = starting + interval + save
        whole = 0 if left < need else int((left - starting) // (interval + save))
        work += whole * interval
        now += left
        count += 1
        left, starting = source.expovariate(1 / between), restart
    return now / work


@pytest.mark.parametrize(
    ("interval", "save", "restart"), [(600, 60, 300), (1200, 60, 300), (3000, 60, 600), (1000, 200, 0), (9000, 30, 900)]
)
def test_a_drawn_run_takes_the_time_of_the_law(interval: float, save: float, restart: float) -> None:
    assert simulated(interval, save, restart, 10_000.0, 100_000) == pytest.approx(wall(interval, save, restart, 10_000.0), rel=0.01)


def test_draws_have_the_stated_mean_and_shape_one_is_exponential() -> None:
    for shape in (0.7, 1.0, 2.0):
        times = list(draw(5, 10.0, 2e5, shape))
        gaps = np.diff([0.0, *times])
        assert gaps.mean() == pytest.approx(10.0, rel=0.03)
        spread = math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1
        assert (gaps.std() / gaps.mean()) ** 2 == pytest.approx(spread, rel=0.08)
    assert list(draw(5, 10.0, 100.0)) == list(draw(5, 10.0, 100.0)) != list(draw(6, 10.0, 100.0))


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_a_strip_adds_up_and_follows_the_law_where_there_is_one(shape: float) -> None:
    """Shape 1 is a Poisson process; failures that come in bunches leave more of the time, for the same mean between them."""
    interval, save, lost = 1200.0, 60.0, 300.0
    went = shares(strip(draw(3, 10_000.0, 6e7, shape), interval, save, lost, 6e7))
    law = goodput(interval, save, lost, 10_000.0)
    assert went.total == pytest.approx(1, abs=1e-9)
    if shape == 1.0:
        assert went.goodput == pytest.approx(law.goodput, rel=0.01) and went.writing == pytest.approx(law.writing, rel=0.01)
        assert went.restart == pytest.approx(law.restart, rel=0.02) and went.lost == pytest.approx(law.lost, rel=0.02)
    else:
        assert (went.goodput > law.goodput) == (shape < 1.0)


def test_a_strip_by_hand() -> None:
    found = list(strip([5.0, 6.0, 14.0], 2.0, 1.0, 2.0, 16.0))
    assert found == [
        ("work", 0, 2), ("save", 2, 3), ("lost", 3, 5), ("restart", 5, 6), ("restart", 6, 8), ("work", 8, 10), ("save", 10, 11),
        ("work", 11, 13), ("save", 13, 14), ("restart", 14, 16),
    ]  # fmt: skip
    assert list(strip([], 2.0, 0.0, 1.0, 5.0)) == [("work", 0, 2), ("work", 2, 4), ("lost", 4, 5)]
    assert list(strip([9.0], 2.0, 0.0, 1.0, 4.0)) == [("work", 0, 2), ("work", 2, 4)]
    assert shares([Stretch("work", 0.0, 2.0)]) == Shares(1.0, 0.0, 0.0, 0.0)
    assert shares(found) == Shares(*(pytest.approx(spent / 16) for spent in (6.0, 3.0, 5.0, 2.0)))
    with pytest.raises(BadValue, match="interval"):
        list(strip([], 0.0, 1.0, 1.0, 5.0))


def test_sentences_about_the_best_interval() -> None:
    """Llama 3's cluster with a minute to write: 1,116 s or Young's 1,156 waste the same; at δ = M the difference shows."""
    assert young(60.0, META) == pytest.approx(1156, abs=1)
    wasted = [1 - 1 / wall(tau, 60.0, 0.0, META) for tau in (optimum(60.0, META), young(60.0, META))]
    assert wasted[1] - wasted[0] == pytest.approx(0, abs=1e-4)
    at_once = [1 - 1 / wall(tau, 600.0, 0.0, 600.0) for tau in (young(600.0, 600.0), optimum(600.0, 600.0))]
    assert at_once == pytest.approx([0.861, 0.841], abs=5e-4)
    assert goodput(young(120.0, 10_800.0), 120.0, 0.0, 10_800.0).goodput == pytest.approx(1 - 0.142, abs=0.001)
    assert waste(young(120.0, 10_800.0), 120.0, 0.0, 10_800.0) == pytest.approx(0.149, abs=5e-4)


def test_draws_are_the_same_everywhere() -> None:
    assert list(draw(1, 10.0, 60.0)) == pytest.approx(
        [4.591657963416915, 33.33817913318658, 33.80130995614427, 48.82675700723274, 51.30003254472812]
    )
    assert list(draw(2, 10.0, 26.3, 0.5)) == pytest.approx([1.2397037111406017, 1.2788790702912454, 18.32656966409973, 21.64410161694891])


def test_restarts_that_fail_again() -> None:
    """Each failure costs M·(1 − e^{−R/M}) of restarting on average: a share of 1 − e^{−R/M} of the time, for numbers and arrays."""
    for restart in (300.0, 3000.0):
        for between in (3000.0, np.array([3000.0])):
            assert goodput(600.0, 60.0, restart, between).restart == pytest.approx(1 - math.exp(-restart / 3000.0))
    assert wall(1.0, 1.0, 701.0, 1.0) == wall(701.0, 1.0, 1.0, 1.0) == math.inf and wall(300.0, 1.0, 300.0, 1.0) < math.inf
    assert daly(np.array([2.0, 1.9999]), 1.0) == pytest.approx([1.0, 0.8889], abs=1e-3)


def test_two_levels_save_often_nearby_and_seldom_far_away() -> None:
    near, far = Level(2.0, 60.0), Level(60.0, 600.0)
    often, seldom, share = two_level(near, far, 0.9, META)
    assert often == pytest.approx(young(2.0, META / 0.9)) and seldom == pytest.approx(young(60.0, META / 0.1))
    assert share > goodput(optimum(60.0, META), 60.0, 600.0, META).goodput
    with pytest.raises(BadValue, match="use goodput"):
        two_level(near, far, 1.0, META)


def test_two_levels_against_a_drawn_run() -> None:
    near, far, survives, between = Level(5.0, 60.0), Level(60.0, 300.0), 0.8, 20_000.0
    often, seldom, share = two_level(near, far, survives, between)
    each = round(seldom / often)
    source, now, work = random.Random(11), 0.0, 0.0
    for _ in range(40_000):
        left, lost = source.expovariate(1 / between), source.random() > survives
        cycle = each * often + (each - 1) * near.save + far.save
        cycles, rest = divmod(left, cycle)
        inside = min(each - 1, int(rest // (often + near.save)))
        work += cycles * each * often + (0 if lost else inside * often)
        now += left + (far if lost else near).restart
    assert work / now == pytest.approx(share, abs=0.01)


def test_systems_in_series() -> None:
    assert series({"gpu": (50_677.0, 16_384), "switch": (100_000.0, 500)}) == pytest.approx(1 / (16_384 / 50_677 + 500 / 1e5))
    assert wall(1.0, 1e9, 0.0, 1.0) == math.inf
    with pytest.raises(BadValue, match="name at least one part"):
        series({})
    with pytest.raises(BadValue, match="give a finite number above 0"):
        optimum(0.0, 100.0)
    swept = goodput(np.array([600.0, 1200.0]), 60.0, np.array([300.0, 300.0]), META)
    assert swept.goodput[1] == pytest.approx(goodput(1200.0, 60.0, 300.0, META).goodput) and swept.total == pytest.approx([1, 1])
