"""Amdahl, Gustafson, Karp and Flatt: rational arithmetic, hand values, rows of the evidence."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.claims.shorthand import row
from ironlaw.engine.scaling.amdahl import amdahl, amdahl_ceiling, gustafson, halvings, karp_flatt, scaled_share, workers_needed
from ironlaw.errors import BadValue

SHARES, WORKERS = st.floats(0, 1), st.floats(1, 1e6)
ROWS = st.tuples(st.integers(0, 1000), st.integers(2, 5000))


def test_hand_values():
    assert amdahl(0.15, 64) == pytest.approx(6.1244, abs=5e-5)
    assert amdahl(0.25, 64) == pytest.approx(3.8209, abs=5e-5)
    assert amdahl(0.3, 1) == 1.0 == amdahl(1.0, 64)
    assert amdahl(0.0, 64) == 64.0
    assert amdahl_ceiling(0.75) == 4.0 and amdahl_ceiling(0.0) == 1.0 and amdahl_ceiling(1.0) == math.inf


@given(ROWS)
def test_as_a_sum_of_two_times_in_fractions(drawn):
    share, n = Fraction(drawn[0], 1000), drawn[1]
    time = share + (1 - share) / n
    assert amdahl(float(share), n) == pytest.approx(float(1 / time), rel=1e-12)


@given(SHARES, WORKERS)
def test_gustafson_is_the_same_law_with_the_share_of_the_other_run(serial, n):
    assert gustafson(scaled_share(serial, n), n) == pytest.approx(amdahl(serial, n), rel=1e-9)


@given(st.floats(0.001, 1), st.floats(2, 5000))
def test_gustafson_and_amdahl_to_twelve_digits(serial, n):
    assert gustafson(scaled_share(serial, n), n) == pytest.approx(amdahl(serial, n), rel=1e-12)


def test_one_share_taken_for_both_runs_gives_two_numbers():
    assert gustafson(0.15, 64) == pytest.approx(54.55)
    assert scaled_share(0.15, 64) == pytest.approx(0.15 / (0.15 + 0.85 / 64), rel=1e-12)
    assert scaled_share(0.15, 64) == pytest.approx(0.9187, abs=1e-4)


@given(SHARES, st.floats(2, 1e4))
def test_karp_and_flatt_give_the_share_back(serial, n):
    assert karp_flatt(amdahl(serial, n), n) == pytest.approx(serial, abs=1e-12)


def test_from_two_workers_to_sixty_four():
    assert karp_flatt(1.8, 2) == pytest.approx(1 / 9)
    assert amdahl(karp_flatt(1.8, 2), 64) == pytest.approx(8.0)
    assert karp_flatt(2.4, 4) == pytest.approx(2 / 9)
    assert karp_flatt(2.5, 2) < 0  # better than linear is seen, not hidden


@given(st.floats(0.01, 0.99), st.floats(1, 1e5))
def test_rises_with_workers_falls_with_the_share_stays_below_the_ceiling(serial, n):
    assert amdahl(serial, n) < amdahl(serial, n * 1.5) < amdahl_ceiling(1 - serial)
    assert amdahl(serial * 0.9, n * 1.5) > amdahl(serial, n * 1.5)
    assert amdahl(serial, 1e12) == pytest.approx(amdahl_ceiling(1 - serial), rel=1e-6)


def test_upstreams_formula_is_this_one_and_its_premise_another():
    n, r = 8, 0.15
    assert n / (1 + (n - 1) * r) == pytest.approx(amdahl(r, n), rel=1e-12)
    assert amdahl(r, n) == pytest.approx(3.902, abs=1e-3)
    assert gustafson(r, n) == pytest.approx(6.95)  # serial share r of the step on n workers
    assert n * (1 - r) == pytest.approx(6.8)  # r of the step on n workers is pure overhead
    assert amdahl(0.05, 8) == pytest.approx(5.93, abs=5e-3)


def test_shares_from_the_evidence():
    eager = row("h200_sxm/models", workload="resnet50", batch=1, mode="eager")
    share = eager.value("busy_s") / eager.value("wall_s")
    assert share == pytest.approx(0.0914, abs=5e-5)
    assert amdahl_ceiling(share) == pytest.approx(1.1006, abs=5e-5)
    assert amdahl_ceiling(1 - share) == pytest.approx(1 / share, rel=1e-12)
    assert 1 / share == pytest.approx(10.94, abs=5e-3)
    replay = row("h200_sxm/models", workload="resnet50", batch=1, mode="graphs")
    assert eager.value("wall_s") / replay.value("wall_s") == pytest.approx(14.63, abs=5e-3)
    large = row("h200_sxm/models", workload="resnet50", batch=128, mode="eager")
    assert large.value("busy_s") / large.value("wall_s") == pytest.approx(0.9616, abs=5e-5)


@pytest.mark.parametrize(
    ("serial", "target", "n", "weeks"),
    [(1 / 9, 8, 64, 0), (1 / 9, 12, 64, 1), (1 / 9, 30, 64, 3), (1 / 9, 63.9, 64, 13),
     (1 / 9, 64, 64, math.inf), (0.0, 64, 64, 0), (0.5, 80, 64, math.inf)],
)  # fmt: skip
def test_weeks_that_halve_the_share(serial, target, n, weeks):
    assert halvings(serial, target, n) == weeks
    if 0 < weeks < math.inf:
        assert amdahl(serial / 2**weeks, n) >= target > amdahl(serial / 2 ** (weeks - 1), n)


def test_a_share_that_is_just_small_enough_needs_no_more_halving():
    assert halvings(1 / 9, 8, 64) == halvings(0.0, 64, 64) == 0
    assert halvings(2 * karp_flatt(12, 64), 12, 64) == 1 and halvings(1024 * karp_flatt(63, 64), 63, 64) == 10


def test_crosstalk_takes_its_part_of_the_room():
    assert halvings(0.1, 8, 64, 0.0) == 0 and halvings(0.1, 8, 64, 0.001) == 2 and halvings(0.1, 8, 64, 0.01) == math.inf


@given(st.floats(0, 0.5), st.floats(1.01, 60))
def test_the_fewest_workers(serial, target):
    n = workers_needed(serial, target)
    if math.isinf(n):
        assert target >= amdahl_ceiling(1 - serial) * (1 - 1e-9)
    else:
        assert amdahl(serial, n) >= target * (1 - 1e-8)
        assert n == 1 or amdahl(serial, n - 1) < target


def test_the_fewest_workers_by_hand():
    assert workers_needed(1 / 9, 8) == 64 and workers_needed(0.25, 4) == math.inf and workers_needed(0.5, 1) == 1
    assert workers_needed(1.0, 1.0) == 1  # nothing can be shared, and nothing need be
    assert workers_needed(0.5, 0.5) == 1


def test_arrays_are_welcome():
    n = np.array([1.0, 2.0, 64.0])
    assert amdahl(0.15, n) == pytest.approx([amdahl(0.15, each) for each in n])
    assert karp_flatt(np.array([1.8, 2.4]), np.array([2.0, 4.0])) == pytest.approx([1 / 9, 2 / 9])
    assert amdahl_ceiling(np.array([0.5, 1.0])) == pytest.approx([2.0, math.inf])


@pytest.mark.parametrize(
    ("law", "arguments", "word"),
    [
        (amdahl, (1.2, 4), "^serial share is 1.2;"), (amdahl, (-0.1, 4), "-0.1"), (amdahl, (float("nan"), 4), "nan"),
        (amdahl, (0.1, 0.5), "^workers is 0.5;"), (amdahl, (0.1, float("inf")), "^workers is inf"),
        (amdahl, (np.array([0.1, float("nan")]), 4), "share"),
        (gustafson, (2, 4), "^serial share of the run on n workers is 2"), (gustafson, (0.5, 0), "workers"),
        (scaled_share, (2, 4), "^serial share is 2;"), (scaled_share, (0.5, 0), "workers"),
        (karp_flatt, (0, 4), "^speed-up is 0"), (karp_flatt, (1.8, 1), "^one worker.* 2 or more$"), (karp_flatt, (1.8, 0.5), "0.5"),
        (amdahl_ceiling, (-0.1,), "^fraction that is sped up is -0.1"), (halvings, (1.5, 2, 4), "^serial share is 1.5"),
        (halvings, (0.5, 2, 4, -1), "^crosstalk κ is -1"), (workers_needed, (-1, 4), "^serial share is -1"),
        (workers_needed, (0.1, 0), "^target is 0"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(law, arguments, word):
    with pytest.raises(BadValue, match=word):
        law(*arguments)
