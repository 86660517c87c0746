"""The rates of a 2 × 2 table and what two of them force on the third: ProPublica's counts, fractions, the theorem's exceptions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.parity.rates import Table, fnr_of, forced_gap, fpr_of, odds, of_rates, ppv_of, ray
from ironlaw.errors import BadValue
from ironlaw.registry.scored_groups import groups

COUNTS = st.integers(1, 5000)
BASES, PPVS, FNRS = st.floats(0.02, 0.98), st.floats(0.05, 0.99), st.floats(0.0, 0.95)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_any_two_rates_and_the_base_give_the_third(tp, fp, fn, tn):
    table = Table(tp, fp, fn, tn)
    assert fpr_of(table.base, table.ppv, table.fnr) == pytest.approx(table.fpr, rel=1e-12)
    assert ppv_of(table.base, table.fnr, table.fpr) == pytest.approx(table.ppv, rel=1e-12)
    assert fnr_of(table.base, table.ppv, table.fpr) == pytest.approx(table.fnr, abs=1e-11)
    assert float(Fraction(fp, fp + tn)) == table.fpr and float(Fraction(tn, fn + tn)) == table.npv
    assert table.tpr / table.fpr == pytest.approx(ray(table.base, table.ppv), rel=1e-12)
    again = of_rates(table.base, table.fpr, table.tpr, table.people)
    assert (again.tp, again.fp, again.fn, again.tn) == pytest.approx((tp, fp, fn, tn), rel=1e-9, abs=1e-9)


def test_by_hand():
    table = Table(30, 10, 20, 40)
    assert (table.base, table.fpr, table.fnr, table.ppv) == (0.5, 0.2, 0.4, 0.75)
    assert (table.npv, table.selected, table.accuracy, table.people) == (40 / 60, 0.4, 0.7, 100)
    assert math.isnan(Table(0, 0, 5, 5).ppv) and math.isnan(Table(5, 0, 5, 0).fpr) and math.isnan(Table(0, 5, 0, 5).fnr)
    assert math.isnan(Table(5, 5, 0, 0).npv) and ppv_of(0.5, 0.0, 0.0) == 1.0


def test_at_the_ends_of_every_rate():
    """Nobody flagged misses all; flags that are always right force nothing on those they miss, and flag no other."""
    assert fnr_of(0.3, 0.5, 0.0) == 1.0 == fnr_of(0.3, 1.0, 0.0) and fnr_of(0.3, 1.0, 0.1) == -math.inf
    assert fpr_of(0.3, 1.0, 0.4) == 0.0 and fpr_of(0.5, 0.5, 0.0) == 1.0 == ray(0.5, 0.5)
    assert of_rates(1.0, 0.0, 1.0) == Table(1.0, 0.0, 0.0, 0.0) and of_rates(0.0, 1.0, 0.0, 5) == Table(0.0, 5.0, 0.0, 0.0)
    assert ppv_of(0.0, 0.0, 1.0) == 0.0 and ppv_of(1.0, 0.0, 1.0) == 1.0 and math.isnan(ppv_of(0.5, 1.0, 0.0))
    assert math.isnan(Table(0, 0, 0, 0).base)


def test_compas_as_propublica_printed_it():
    (one, other) = (group.at(5) for group in groups("compas"))
    assert (one.tp, one.fp, one.fn, one.tn) == (1369, 805, 532, 990) and (other.tp, other.fp, other.fn, other.tn) == (505, 349, 461, 1139)
    assert [round(100 * rate, 2) for rate in (one.fpr, one.fnr, other.fpr, other.fnr)] == [44.85, 27.99, 23.45, 47.72]
    assert fpr_of(one.base, one.ppv, one.fnr) == pytest.approx(0.448468, abs=5e-7)
    assert fpr_of(other.base, other.ppv, other.fnr) == pytest.approx(0.234543, abs=5e-7)
    assert odds(one.base) / odds(other.base) == pytest.approx(1.6313, abs=5e-5)


@given(BASES, BASES, PPVS, FNRS)
def test_at_equal_ppv_and_fnr_the_fprs_are_as_the_odds(a, b, ppv, fnr):
    assert fpr_of(a, ppv, fnr) / fpr_of(b, ppv, fnr) == pytest.approx(odds(a) / odds(b), rel=1e-9)


def test_the_question_of_the_lab():
    assert fpr_of(0.3, 0.8, 0.3) == pytest.approx(0.075) and fpr_of(0.1, 0.8, 0.3) == pytest.approx(0.0194, abs=5e-5)
    assert fpr_of(0.3, 0.8, 0.3) / fpr_of(0.1, 0.8, 0.3) == pytest.approx(27 / 7)


@given(BASES, BASES, st.floats(0.05, 0.999), st.floats(0.001, 1))
def test_two_rays_meet_at_the_corner_alone(a, b, ppv, fpr):
    """Unless the base rates are equal: one ray; or the flags are always right: both are the left edge."""
    apart = abs(ray(a, ppv) - ray(b, ppv)) * fpr
    assert (apart > 0) == (a != b) or abs(a - b) < 1e-12
    assert ray(a, 1.0) == ray(b, 1.0) == math.inf and ray(a, ppv) == ray(a, ppv)


@given(BASES, PPVS, FNRS)
def test_equal_base_rates_force_nothing(base, ppv, fnr):
    assert (
        forced_gap(base, base, ppv=ppv, fnr=fnr)
        == 0
        == forced_gap(base, base, fnr=fnr, fpr=0.2)
        == forced_gap(base, base, ppv=ppv, fpr=0.2)
    )


def test_what_is_forced_falls_as_base_rates_meet_and_as_flags_become_right():
    gaps = [forced_gap(0.3 + apart, 0.3, ppv=0.6, fnr=0.3) for apart in (0.3, 0.2, 0.1, 0.01)]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 0.01
    by_ppv = [forced_gap(0.5, 0.3, ppv=ppv, fnr=0.3) for ppv in (0.5, 0.7, 0.9, 0.99, 1.0)]
    assert by_ppv == sorted(by_ppv, reverse=True) and by_ppv[-1] == 0
    perfect = forced_gap(0.5, 0.3, fnr=0.0, fpr=0.0)
    assert perfect == 0 and forced_gap(0.5, 0.3, fnr=0.3, fpr=0.2) == pytest.approx(ppv_of(0.5, 0.3, 0.2) - ppv_of(0.3, 0.3, 0.2))
    assert forced_gap(0.5, 0.3, ppv=0.6, fpr=0.2) == pytest.approx(0.4)  # the group with more true ones misses more of them


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: Table(-1, 0, 1, 1), "^tp is -1"),
        (lambda: Table(1, -1, 1, 1), "^fp is -1"),
        (lambda: Table(1, 0, math.nan, 1), "^fn is nan"),
        (lambda: Table(1, 0, 1, math.inf), "^tn is inf"),
        (lambda: fpr_of(0.0, 0.5, 0.5), "^base rate is 0.0;"),
        (lambda: fpr_of(1.0, 0.5, 0.5), "^base rate is 1.0;"),
        (lambda: fpr_of(0.5, 0.0, 0.5), "^PPV is 0.0;"),
        (lambda: fpr_of(0.5, 1.1, 0.5), "^PPV is 1.1;"),
        (lambda: fpr_of(0.5, 0.5, 1.5), "^FNR is 1.5;"),
        (lambda: ppv_of(1.5, 0.5, 0.5), "^base rate is 1.5;"),
        (lambda: ppv_of(0.5, 1.5, 0.5), "^FNR is 1.5;"),
        (lambda: ppv_of(0.5, 0.5, -0.5), "^FPR is -0.5;"),
        (lambda: fnr_of(0.5, 0.5, 2), "^FPR is 2;"),
        (lambda: fnr_of(0.5, 2, 0), "^PPV is 2;"),
        (lambda: of_rates(0.5, 0.5, 1.5), "^TPR is 1.5;"),
        (lambda: of_rates(0.5, 1.5, 0.5), "^FPR is 1.5;"),
        (lambda: of_rates(1.5, 0.5, 0.5), "^base rate is 1.5;"),
        (lambda: forced_gap(0.5, 0.4, fpr=0.1), r"^1 rates given \(fpr\); give two of fpr, fnr and ppv"),
        (lambda: forced_gap(0.5, 0.4, fpr=0.1, fnr=0.1, ppv=0.1), r"^3 rates given \(fpr, fnr, ppv\)"),
        (lambda: forced_gap(0.5, 0.4), r"^0 rates given \(none\)"),
    ],
)
def test_what_is_refused_is_named(call, word):
    with pytest.raises(BadValue, match=word):
        call()
