"""Levers by hand: sums of terms, hidden terms, fixes that really fix, against brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.levers import LEAST, Limit, best, cheapest_fix, critical, sensitivity, tornado
from ironlaw.errors import BadValue

RATES = {"memory": 2.0, "compute": 5.0, "wire": 1.0}


def total(r):
    return 3 / r["memory"] + 4 / r["compute"] + 1 / r["wire"]


def overlapped(r):
    return max(3 / r["memory"], 4 / r["compute"]) + 1 / r["wire"]


@given(st.fixed_dictionaries({name: st.floats(0.1, 10) for name in RATES}))
def test_levers_of_rates_add_up_to_minus_one(rates):
    told = sensitivity(total, rates)
    assert sum(told.values()) == pytest.approx(-1, abs=1e-6)
    assert told["memory"] == pytest.approx(-3 / rates["memory"] / total(rates), abs=1e-6)
    assert total({name: 2 * rate for name, rate in rates.items()}) == pytest.approx(total(rates) / 2)


def test_what_is_hidden_has_no_lever():
    assert sensitivity(overlapped, RATES)["compute"] == 0 and best(overlapped, RATES) == "memory"
    assert best(overlapped, RATES, ("compute", "wire")) == "wire" and best(lambda r: r["memory"] / r["wire"], RATES, kind=LEAST) == "memory"
    assert critical({"a": 1.0, "b": 3.0}) == "b"


def test_a_lever_says_what_ten_per_cent_do_to_first_order():
    bar = tornado(total, RATES)[0]
    assert bar.name == "memory" and bar.low > total(RATES) > bar.high
    assert bar.high / total(RATES) - 1 == pytest.approx(bar.lever * 0.1, rel=0.12)


@given(st.floats(0.5, 4.0))
def test_the_cheapest_fix_fixes_and_no_fix_means_none(limit):
    dials = {"memory": (1.0, 3.0, 6.0), "wire": (0.5, 2.0, 4.0)}

    def holds(r):
        return Limit("t", "most", limit).holds(total(r))

    fix = cheapest_fix(holds, RATES, dials)
    every = [(name, value) for name, values in dials.items() for value in values if holds({**RATES, name: value})]
    assert (fix is None) == (not every)
    if fix:
        assert holds({**RATES, fix.dial: fix.value}) and (fix.dial, fix.value) in every
        assert cheapest_fix(holds, RATES, dials, lambda name, value: value).cost == min(value for _, value in every)


def test_margins():
    assert Limit("days", "most", 25).margin(20) == pytest.approx(0.2) and Limit("up", "least", 0.9).margin(0.45) == pytest.approx(-0.5)
    assert Limit("up", "least", 0.9).holds(0.9) and not Limit("days", "most", 25).holds(25.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sensitivity(total, {**RATES, "wire": 0.0}), "above 0"),
        (lambda: sensitivity(lambda r: r["wire"] - 5, {"wire": 1.0}), "logarithm"),
        (lambda: tornado(total, RATES, 0), "0.1"),
        (lambda: critical({}), "at least one"),
    ],
)
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises(BadValue, match=words):
        call()
