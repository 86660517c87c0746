"""T = D/BW + O/R + L, term by term."""

import numpy as np
import pytest

from ironlaw.engine.device.iron_law import Terms, binding, iron_law
from ironlaw.errors import BadValue


def test_three_terms_by_hand():
    # 600 bytes at 100 bytes/s, 500 operations at 250 a second, 1 s
    terms = iron_law(600.0, 500.0, 100.0, 250.0, 1.0)
    assert (terms.data, terms.compute, terms.overhead) == (6.0, 2.0, 1.0)
    assert terms.sequential == 9.0
    assert terms.overlapped == 7.0
    assert (terms.overlapped, terms.sequential) == (7.0, 9.0)
    assert terms.binding == "memory"


def test_overhead_defaults_to_nothing_and_efficiency_to_all():
    assert iron_law(10.0, 30.0, 5.0, 10.0) == Terms(2.0, 3.0, 0.0)
    assert Terms(2.0, 3.0) == Terms(2.0, 3.0, 0.0)


def test_efficiency_slows_the_arithmetic_only():
    assert iron_law(10.0, 30.0, 5.0, 10.0, 1.0, efficiency=0.5) == Terms(2.0, 6.0, 1.0)


def test_resnet50_arithmetic_on_an_h100_takes_4_microseconds_not_nanoseconds():
    # erratum 2: 4 GFLOP at 989 TFLOP/s, 100 MB at 3.35 TB/s; the ratio is 7.4
    terms = iron_law(100e6, 4e9, 3.35e12, 989e12)
    assert terms.compute == pytest.approx(4.0445e-6, rel=1e-4)
    assert terms.data == pytest.approx(29.85e-6, rel=1e-3)
    assert terms.data / terms.compute == pytest.approx(7.38, abs=0.01)


def test_terms_add_one_by_one():
    assert Terms(1.0, 2.0, 3.0) + Terms(10.0, 20.0, 30.0) == Terms(11.0, 22.0, 33.0)


@pytest.mark.parametrize(
    ("terms", "name"),
    [
        ((3.0, 2.0, 1.0), "memory"),
        ((1.0, 3.0, 2.0), "compute"),
        ((1.0, 2.0, 3.0), "overhead"),
        ((2.0, 2.0, 2.0), "memory"),
        ((1.0, 2.0, 2.0), "compute"),
    ],
)
def test_binding_term_is_the_largest_and_the_earlier_on_a_tie(terms, name):
    assert binding(*terms) == name
    assert type(binding(*terms)) is str
    assert Terms(*terms).binding == name
    assert binding(*(np.array([value]) for value in terms)).tolist() == [name]


def test_arrays_equal_scalars():
    data, ops = np.array([0.0, 600.0, 50.0]), np.array([500.0, 500.0, 50.0])
    both = iron_law(data, ops, 100.0, 250.0, 0.5)
    ones = [iron_law(d, o, 100.0, 250.0, 0.5) for d, o in zip(data.tolist(), ops.tolist(), strict=True)]
    assert both.overlapped.tolist() == [one.overlapped for one in ones]
    assert both.sequential.tolist() == [one.sequential for one in ones]
    assert both.binding.tolist() == [one.binding for one in ones] == ["compute", "memory", "memory"]
    assert binding(0.1, np.array([0.2, 0.05]), 0.15).tolist() == ["compute", "overhead"]
    assert binding(np.array([0.2, 0.05]), 0.1, 0.15).tolist() == ["memory", "overhead"]


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ((-1.0, 1.0, 1.0, 1.0), "data D is -1.0; give a finite number of at least 0"),
        ((1.0, -1.0, 1.0, 1.0), "operations O is -1.0; give a finite number of at least 0"),
        ((1.0, 1.0, 0.0, 1.0), "bandwidth BW is 0.0; give a finite number above 0"),
        ((1.0, 1.0, 1.0, 0.0), "rate R is 0.0; give a finite number above 0"),
        ((1.0, 1.0, 1.0, 1.0, -0.5), "overhead L is -0.5; give a finite number of at least 0"),
        ((1.0, 1.0, 1.0, 1.0, 0.0, 0.0), "efficiency η is 0.0; give a finite number above 0"),
        ((float("nan"), 1.0, 1.0, 1.0), "data D is nan"),
    ],
)
def test_bad_values_are_named(values, place):
    with pytest.raises(BadValue) as error:
        iron_law(*values)
    assert str(error.value).startswith(place)


def test_zero_work_and_zero_overhead_are_fine():
    assert iron_law(0.0, 0.0, 1.0, 1.0, 0.0).sequential == 0.0
