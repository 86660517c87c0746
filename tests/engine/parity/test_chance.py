"""Newcombe's interval by his own example, what three rates can share, and rules with a tolerance."""

import math

import pytest
from scipy import stats

from ironlaw.engine.parity.chance import Gap, gap
from ironlaw.engine.parity.curves import Group, normals
from ironlaw.engine.parity.forced import least_gap, separation_needed
from ironlaw.engine.parity.rules import best
from ironlaw.errors import BadValue
from ironlaw.registry.scored_groups import groups


def test_newcombes_own_example():
    """56 of 70 against 48 of 80: 0.2, from 0.0524 to 0.3339 (Statistics in Medicine 17, 1998, table II, method 10)."""
    found = gap(56, 70, 48, 80)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert not found.may_be_chance and gap(5, 10, 4, 10).may_be_chance and found.width == pytest.approx(0.2815, abs=1e-4)


def test_a_gap_that_touches_nothing_may_be_chance():
    assert Gap(0.1, 0.0, 0.2).may_be_chance and Gap(-0.1, -0.2, 0.0).may_be_chance and not Gap(0.1, 0.01, 0.2).may_be_chance


def test_what_may_be_chance_in_compas():
    one, other = (group.at(5) for group in groups("compas"))
    fpr = gap(one.fp, one.fp + one.tn, other.fp, other.fp + other.tn)
    ppv = gap(one.tp, one.tp + one.fp, other.tp, other.tp + other.fp)
    assert (100 * fpr.low, 100 * fpr.high) == pytest.approx((18.2, 24.6), abs=0.2) and not fpr.may_be_chance
    assert abs(100 * ppv.low) < 0.2  # on the edge


def test_three_rates_of_compas_by_all_pairs():
    """Within 5 points no pair of cuts has all three, within 10 some have; and hardly anybody flagged brings them together."""
    one, other = groups("compas")
    assert 0.05 < least_gap(one, other, 0.05) <= 0.10 and least_gap(one, other, 0.5) > least_gap(one, other, 0.1)
    assert (
        least_gap(one, other, 0.0) <= least_gap(one, other, 0.05)
        and math.isinf(least_gap(*(normals("g", 0.3, 1.0, steps=2),) * 2, 0.9999)) is False
    )
    same = normals("g", 0.3, 1.0)
    assert least_gap(same, same, 0.1) == 0.0
    assert least_gap(normals("a", 0.3, 8.0), normals("b", 0.1, 8.0), 0.05) < 0.01  # nearly perfect prediction
    with pytest.raises(BadValue, match="the floor is 1"):
        least_gap(one, other, 1.5)


def test_the_least_gap_by_hand():
    """Of two sure scores, one half and one quarter true, both cuts are perfect; if more must be flagged, all are: PPV 1/2 against 1/4."""
    half, quarter = Group("half", (1.0, 2.0), (2.0, 2.0), (0.0, 2.0)), Group("quarter", (1.0, 2.0), (3.0, 1.0), (0.0, 1.0))
    assert least_gap(half, quarter) == least_gap(half, quarter, 0.25) == 0.0 and least_gap(half, quarter, 0.3) == 0.25
    some, rare = Group("some", (1.0, 2.0), (7.0, 13.0), (0.0, 10.0)), Group("rare", (1.0, 2.0), (15.0, 5.0), (0.0, 4.0))
    assert least_gap(some, rare) == pytest.approx(3 / 10 - 1 / 16)  # PPV 10/13 and 4/5 are closer
    most, few = Group("most", (1.0,), (10.0,), (9.0,)), Group("few", (1.0, 2.0), (9.0, 1.0), (0.0, 1.0))
    assert least_gap(most, few) == pytest.approx(0.8)  # all flagged in both; few's sure cut has an FPR of 0 against 1
    with pytest.raises(BadValue, match=r"the floor is 1\.0"):
        least_gap(half, quarter, 1.0)


def test_tolerance_is_a_price_list():
    data = groups("credit")
    top = best(data, "none", 0.82).profit
    for rule, rate in (("equal_opportunity", "fnr"), ("equal_selection", "selected")):
        shares = [best(data, rule, 0.82, t).profit / top for t in (0.0, 0.05, 0.1, 0.2, 0.6)]
        assert shares == sorted(shares) and shares[-1] == pytest.approx(1.0, abs=1e-4) and shares[1] > shares[0] + 1e-3
        assert best(data, rule, 0.82, 0.1).gap(rate) <= 0.1 + 1e-6
    with pytest.raises(BadValue, match="no tolerance"):
        best(data, "equal_odds", 0.82, 0.1)
    with pytest.raises(BadValue, match="2"):
        best(data, "equal_selection", 0.82, 2)


@pytest.mark.parametrize("base", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("ppv", [0.7, 0.9, 0.97])
def test_a_score_as_good_as_needed_has_that_precision_and_a_poorer_one_has_not(base, ppv):
    """Against the thresholds of two bell curves, cut finely, and SciPy's normal quantiles."""
    apart = separation_needed(base, ppv, 0.05)
    exact = stats.norm.ppf(0.05 * ppv / base) - stats.norm.ppf(0.05 * (1 - ppv) / (1 - base))
    assert apart == pytest.approx(max(0.0, exact), abs=1e-9)

    def reach(separation):
        group = normals("g", base, separation, steps=4000)
        return max(table.ppv for table in group.tables if table.selected >= 0.05)

    assert reach(apart + 0.02) >= ppv and (apart == 0.0 or reach(max(0.0, apart - 0.02)) < ppv)


def test_what_no_score_or_only_a_perfect_one_has():
    assert separation_needed(0.3, 1.0, 0.05) == math.inf and separation_needed(0.05, 0.9, 0.1) == math.inf
    assert separation_needed(0.6, 0.5, 0.05) == separation_needed(0.9, 0.5, 0.9) == separation_needed(1.0, 1.0, 0.5) == 0.0
    assert separation_needed(0.4, 0.4, 1.0) == 0.0 and separation_needed(0.4, 0.5, 0.8) == math.inf  # all flagged; all true ones found
    for base, ppv, floor, word in ((0.0, 0.5, 0.1, "base rate"), (0.5, 1.5, 0.1, "PPV"), (0.5, 0.5, -0.1, "floor")):
        with pytest.raises(BadValue, match=f"a {word} of"):
            separation_needed(base, ppv, floor)
