"""Curves, hulls and rules: the Federal Reserve's tables, linear programming, made-up groups with known answers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from ironlaw.engine.parity.curves import Group, auc, height, hull, normals, table_at, within
from ironlaw.engine.parity.rates import Table
from ironlaw.engine.parity.rules import RULES, Decision, best, profit
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.scored_groups import groups

BREAKEVEN = 0.82
SURE = Group("sure", (1.0, 2.0), (5.0, 5.0), (0.0, 5.0))  # every score says who is true
BLIND = Group("blind", (1.0, 2.0), (5.0, 5.0), (2.0, 2.0))  # none does
STEEP = Group("steep", (1.0, 2.0), (15.0, 5.0), (5.0, 5.0))  # half of the true ones without an error, then along TPR = (1 + FPR)/2
WIDE = Group("wide", (1.0, 2.0), (5.0, 15.0), (0.0, 10.0))  # TPR = 2 FPR up to all of the true ones
RATES = st.integers(0, 60).map(lambda count: count / 60)
SQUARE = st.lists(st.tuples(RATES, RATES), min_size=1, max_size=12)


def test_areas_and_pairs_of_cuts_of_compas():
    one, other = groups("compas")
    assert (one.area, other.area) == pytest.approx((0.6918, 0.6931), abs=5e-5)
    pairs = {(i, j): (one.at(i), other.at(j)) for i in range(2, 11) for j in range(2, 11)}

    def together(points):
        return sum(all(abs(getattr(a, rate) - getattr(b, rate)) <= points for rate in ("fpr", "fnr", "ppv")) for a, b in pairs.values())

    def accuracy(pair):
        return sum(table.tp + table.tn for table in pairs[pair]) / (one.total + other.total)

    assert len(pairs) == 81 and together(0.05) == 0 and together(0.10) == 9
    top = max(pairs, key=accuracy)
    assert top == (6, 6) and accuracy(top) == pytest.approx(0.6561, abs=5e-5) and accuracy((7, 5)) == pytest.approx(0.6455, abs=5e-5)


def test_the_area_is_how_often_the_true_one_scores_higher():
    group = Group("g", (1.0, 2.0, 3.0), (4.0, 3.0, 5.0), (1.0, 1.0, 4.0))
    true, other = [1, 2, 3, 3, 3, 3], [1, 1, 1, 2, 2, 3]
    test = stats.mannwhitneyu(true, other)
    assert group.area == pytest.approx(test.statistic / 36)
    assert group.at(2.5).tp == 4 and group.at(0).fn == 0 and group.at(9).tp == 0


def test_base_rates_and_profits_of_the_federal_reserves_tables():
    found = {group.name: group.base for group in groups("credit")}
    assert found == pytest.approx({"White": 0.7587, "Black": 0.3366, "Hispanic": 0.5681, "Asian": 0.8068}, abs=5e-5)
    top = best(groups("credit"), "none", BREAKEVEN).profit
    shares = {rule: best(groups("credit"), rule, BREAKEVEN).profit / top for rule in RULES}
    assert shares["one_threshold"] == pytest.approx(0.9935, abs=2e-3) and shares["equal_opportunity"] == pytest.approx(0.9290, abs=2e-3)
    assert shares["equal_odds"] == pytest.approx(0.8042, abs=2e-3) and shares["equal_selection"] == pytest.approx(0.7047, abs=2e-3)
    assert max(shares.values()) == shares["none"] == 1.0


@pytest.mark.parametrize("rule", ["equal_selection", "equal_opportunity", "equal_odds", "none"])
@pytest.mark.parametrize(
    ("data", "breakeven"),
    [(groups("credit"), BREAKEVEN), ((STEEP, WIDE), 0.5), ((SURE, BLIND), 0.5), ((SURE, BLIND), 0.7), ((SURE, BLIND, WIDE), 0.45)],
    ids=["credit", "crossing", "sure", "dear", "three"],
)
def test_the_best_of_a_rule_as_linear_programming_has_it(rule, data, breakeven):
    """Each group mixes the corners of its hull; the rule is a set of equations between groups."""
    sizes = [len(group.hull) for group in data]
    starts = np.cumsum([0, *sizes])
    people = sum(group.total for group in data)
    worth = np.concatenate([
        [group.total / people * ((1 - breakeven) * group.base * tpr - breakeven * (1 - group.base) * fpr) for fpr, tpr in group.hull]
        for group in data
    ])  # fmt: skip
    equal, right = [], []
    for i in range(len(data)):
        row = np.zeros(starts[-1])
        row[starts[i] : starts[i + 1]] = 1
        equal.append(row)
        right.append(1.0)
    measures = {
        "equal_selection": [lambda group, point: group.base * point[1] + (1 - group.base) * point[0]],
        "equal_opportunity": [lambda group, point: point[1]],
        "equal_odds": [lambda group, point: point[0], lambda group, point: point[1]],
        "none": [],
    }[rule]  # fmt: skip
    for measure in measures:
        for i in range(1, len(data)):
            row = np.zeros(starts[-1])
            row[: starts[1]] = [measure(data[0], point) for point in data[0].hull]
            row[starts[i] : starts[i + 1]] = [-measure(data[i], point) for point in data[i].hull]
            equal.append(row)
            right.append(0.0)
    solved = optimize.linprog(-worth, A_eq=np.array(equal), b_eq=np.array(right), bounds=(0, 1))
    assert best(data, rule, breakeven).profit == pytest.approx(-solved.fun, rel=1e-7, abs=1e-9)


def test_two_hulls_that_cross_share_the_crossing():
    """(1 + x)/2 = 2x at 1/3: there one point for both pays (2/3 − 1/3)/4 a head, at the corners at most 1/16."""
    decision = best((STEEP, WIDE), "equal_odds", 0.5)
    assert decision.points == (pytest.approx((1 / 3, 2 / 3)),) * 2 and decision.profit == pytest.approx(1 / 12)


def test_equal_precision_where_scores_are_sure_or_blind():
    """A blind score has its base rate for a precision, whoever is flagged; a sure one reaches down to it by flagging others too."""
    sure = best((SURE,), "equal_ppv", 0.9)
    assert sure.points == ((0.0, 1.0),) and sure.tables[0].ppv == 1.0
    with pytest.raises(BadValue, match=r"equal precision.*choose another rule"):
        best((SURE, BLIND), "equal_ppv", 0.3)
    pays = best((Group("rare", (1.0, 2.0), (8.0, 2.0), (0.0, 2.0)), BLIND), "equal_ppv", 0.3)
    assert [table.ppv for table in pays.tables] == pytest.approx([0.4, 0.4]) and pays.points[1] == pytest.approx((1.0, 1.0))
    assert pays.points[0] == pytest.approx((3 / 8, 1.0))  # 2 of 5 flagged are true


@pytest.mark.parametrize(
    ("rule", "rates"),
    [("equal_selection", ("selected",)), ("equal_opportunity", ("fnr",)), ("equal_odds", ("fpr", "fnr")), ("equal_ppv", ("ppv",))],
)
def test_a_rule_makes_its_rates_equal_and_stays_under_every_hull(rule, rates):
    for name in ("credit", "compas"):
        decision = best(groups(name), rule, BREAKEVEN if name == "credit" else 0.45)
        for rate in rates:
            assert decision.gap(rate) == pytest.approx(0, abs=1e-6)
        for group, point, table in zip(groups(name), decision.points, decision.tables, strict=True):
            assert within(group.hull, point, 1e-7)
            assert (table.fpr, table.tpr) == pytest.approx(point, abs=1e-9)  # coin flips between two thresholds make exactly that point
        assert decision.profit == pytest.approx(profit(decision.tables, BREAKEVEN if name == "credit" else 0.45))


def test_more_demanding_rules_leave_less():
    for breakeven in (0.5, 0.7, 0.9):
        left = {rule: best(groups("credit"), rule, breakeven).profit for rule in RULES}
        assert left["none"] >= left["equal_opportunity"] >= left["equal_odds"] - 1e-9 and left["none"] >= left["one_threshold"]
        assert left["none"] >= left["equal_selection"] and left["none"] >= left["equal_ppv"]


def test_two_groups_with_the_same_scores_differ_in_ppv_alone():
    """Upstream's case: positives at 0.7, negatives at 0.3, spread 0.15, threshold 0.5; base rates of 10 and 40%."""
    tables = [normals("g", base, 0.4 / 0.15).at(0.2 / 0.15) for base in (0.1, 0.4)]
    assert tables[0].fpr == pytest.approx(tables[1].fpr, abs=1e-12) and tables[0].fnr == pytest.approx(tables[1].fnr, abs=1e-12)
    assert [table.ppv for table in tables] == pytest.approx([0.5254, 0.8692], abs=5e-5)


def test_normals_have_the_area_that_theory_gives():
    for separation in (0.0, 1.0, 2.0):
        group = normals("g", 0.3, separation)
        assert group.area == pytest.approx(stats.norm.cdf(separation / math.sqrt(2)), abs=2e-3) and group.base == pytest.approx(0.3)


@given(SQUARE)
def test_a_hull_is_above_every_point_and_turns_one_way(points):
    corners = hull(points)
    assert corners[0] == (0.0, 0.0) and corners[-1] == (1.0, 1.0)
    for point in points:
        assert height(corners, point[0]) >= point[1] - 1e-9
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) if b[0] > a[0] else math.inf for a, b in itertools.pairwise(corners)]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(slopes))
    assert auc(corners) >= 0.5 - 1e-12 and set(corners) <= {(0.0, 0.0), (1.0, 1.0), *points}


def test_tables_of_a_group_by_hand():
    """Of 12 people 6 are true: 1 of 4 at the lowest score, 1 of 3, 4 of 5."""
    group = Group("g", (1.0, 2.0, 3.0), (4.0, 3.0, 5.0), (1.0, 1.0, 4.0))
    assert [(t.tp, t.fp, t.fn, t.tn) for t in group.tables] == [(6, 6, 0, 0), (5, 3, 1, 3), (4, 1, 2, 5), (0, 0, 6, 6)]
    assert [group.at(threshold).tp for threshold in (1, 1.5, 2, 3, 3.5)] == [6, 5, 5, 4, 0]
    assert group.roc == ((0, 0), (1 / 6, 4 / 6), (0.5, 5 / 6), (1, 1)) and (group.base, group.total) == (0.5, 12)
    assert group.hull == group.roc and height(group.hull, 1 / 12) == pytest.approx(2 / 6)
    found = table_at(group, (0.5, 1.0))
    assert (found.tp, found.fp, found.fn, found.tn) == (6, 3, 0, 3)
    assert profit((found, found), 0.2) == pytest.approx((0.8 * 6 - 0.2 * 3) / 12)


def test_made_up_groups_by_their_cuts():
    """Scores from five below the lower mean to five above the upper, in equal steps; where they are cut does not change who is who."""
    group = normals("far", 0.3, 2.0, centre=7.0, steps=24)
    assert group.name == "far" and len(group.scores) == 24 and group.scores[0] == 2.0 and group.scores[1] == 2.5
    assert group.total == pytest.approx(1.0) and group.base == pytest.approx(0.3)
    found = group.at(8.0)
    assert (found.tpr, found.fpr) == pytest.approx((stats.norm.sf(-1), stats.norm.sf(1)))
    assert len(normals("g", 0.5, 20.0).scores) == 240 and normals("g", 0.5, 0.0).area == pytest.approx(0.5)


def test_one_threshold_by_hand():
    """At half, flag from 2 up: 5 of 5 and 10 of 15 are right; at 0.9 only the sure ones pay; where nothing pays nobody is taken."""
    decision = best((SURE, WIDE), "one_threshold", 0.5)
    assert decision.rule == "one_threshold" and decision.points == ((0.0, 1.0), (0.5, 1.0))
    assert decision.profit == pytest.approx((0.5 * 15 - 0.5 * 5) / 30) and decision.gap("fpr") == 0.5
    nobody = best((WIDE, BLIND), "one_threshold", 0.9)
    assert nobody.points == ((0.0, 0.0), (0.0, 0.0)) and nobody.profit == 0.0 and math.isnan(nobody.gap("ppv"))


def test_a_decision_names_its_rule_and_a_rate_of_nobody_has_no_gap():
    assert [best((SURE, WIDE), rule, 0.5).rule for rule in RULES] == [*RULES] and len(set(RULES.values())) == 6
    assert all(label.islower() for label in RULES.values())  # they stand within a sentence
    half = Decision("none", (), (Table(1, 1, 1, 1), Table(0, 0, 1, 1)), 0.0)
    assert math.isnan(half.gap("ppv")) and half.gap("fpr") == 0.5
    free, own = (best((SURE, BLIND, WIDE), rule, 0.45, tolerance) for rule, tolerance in (("equal_opportunity", 1.0), ("none", 0.0)))
    assert free.profit == pytest.approx(own.profit)


def test_points_of_the_square():
    group = groups("compas")[0]
    assert (
        within(group.hull, (0.0, 0.0))
        and within(group.hull, (1.0, 1.0))
        and not within(group.hull, (0.1, 0.9))
        and not within(group.hull, (0.5, 0.4))
    )
    assert table_at(group, (0.5, 0.75)).tpr == pytest.approx(0.75) and height(((0.0, 0.0), (0.0, 0.4), (1.0, 1.0)), 0.0) == 0.4


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: Group("g", (1.0,), (1.0, 2.0), (1.0,)), BadValue, "^group 'g' has 1 scores, 2 counts and 1 positives; give one of each"),
        (lambda: Group("g", (), (), ()), BadValue, "^group 'g' has 0 scores"),
        (lambda: Group("g", (2.0, 1.0), (3.0, 3.0), (1.0, 1.0)), BadValue, "^group 'g': scores must rise; sort them"),
        (lambda: Group("g", (1.0, 1.0), (3.0, 3.0), (1.0, 1.0)), BadValue, "rise"),
        (lambda: Group("g", (1.0, math.nan), (3.0, 3.0), (1.0, 1.0)), BadValue, "rise"),
        (lambda: Group("g", (1.0,), (1.0,), (2.0,)), BadValue, "^group 'g': more positives"),
        (lambda: Group("g", (1.0, 2.0), (3.0, 3.0), (-1.0, 2.0)), BadValue, "fewer than none"),
        (lambda: Group("g", (1.0,), (1.0,), (1.0,)), BadValue, "^group 'g' needs people of both kinds"),
        (lambda: Group("g", (1.0,), (1.0,), (0.0,)), BadValue, "both kinds"),
        (lambda: height(((0.0, 0.0), (1.0, 1.0)), 1.5), BadValue, "^FPR is 1.5;"),
        (lambda: normals("g", 0.0, 1.0), BadValue, "^the base rate is 0.0 and the separation 1.0;"),
        (lambda: normals("g", 1.0, 1.0), BadValue, "base rate is 1.0"),
        (lambda: normals("g", 0.5, 20.5), BadValue, "from 0 to 20"),
        (lambda: normals("g", 0.5, -1.0), BadValue, "from 0 to 20"),
        (lambda: best(groups("compas"), "fair", 0.5), UnknownName, "^no rule 'fair'.*equal_odds"),
        (lambda: best(groups("compas"), "none", 1.0), BadValue, "^break-even is 1.0;"),
        (lambda: best(groups("compas"), "none", 0.0), BadValue, "^break-even is 0.0;"),
        (lambda: best((), "none", 0.5), BadValue, "^no groups; give at least one$"),
        (lambda: best((SURE, SURE), "none", 0.5), BadValue, "^groups sure, sure; give each"),
        (lambda: best((SURE,), "equal_selection", 0.5, -0.1), BadValue, "^tolerance is -0.1; give a share"),
        (lambda: best((SURE,), "equal_odds", 0.5, 0.1), BadValue, "^rule 'equal_odds' has no tolerance; give one for equal_selection or"),
        (lambda: groups("loans"), UnknownName, "compas"),
    ],
)
def test_what_is_refused_is_named(call, error, word):
    with pytest.raises(error, match=word):
        call()
