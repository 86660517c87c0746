"""Break-even, saving and its sensitivity, against figures from the lab and numerical derivatives."""

import math
from statistics import mean, median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.engine.device import compilation
from ironlaw.engine.device.compilation import (
    NEVER,
    Sensitivity,
    breakeven,
    breakeven_days,
    compile_seconds,
    devices_needed,
    saving,
    sensitivity,
)
from ironlaw.errors import BadValue
from ironlaw.registry.evidence import evidence
from ironlaw.registry.machines import compile_cost


def test_the_labs_figure():
    assert breakeven(30, 1450, 2150) == pytest.approx(133607.142857142857, rel=1e-12)
    assert breakeven(compile_s=30, eager_rate=1450, compiled_rate=2150) == breakeven(30, 1450, 2150)


def test_by_hand():
    # 0.5 s eager, 0.25 s compiled: a quarter of a second a call pays 10 s back in 40 calls
    assert breakeven(10.0, 2.0, 4.0) == 40.0
    assert breakeven(0, 2.0, 4.0) == 0.0


def test_the_scaling_challenge():
    # 15 ms a pass, 40% more throughput, 10 s to compile: 2,334 calls, 23.3 hours at 100 an hour
    rate = 1 / 0.015
    calls = breakeven(10, rate, 1.4 * rate)
    assert math.ceil(calls) == 2334
    assert breakeven_days(10, rate, 1.4 * rate, 2400) * 24 == pytest.approx(23.33, abs=0.01)


def test_ten_thousand_a_day_takes_13_days():
    assert breakeven_days(30, 1450, 2150, 10_000) == pytest.approx(13.3607, abs=1e-4)  # erratum 31


@pytest.mark.parametrize("compiled", [100.0, 99.0, 1.0])
def test_never_where_compiling_saves_nothing(compiled):
    assert breakeven(30, 100.0, compiled) == math.inf == NEVER
    assert breakeven_days(30, 100.0, compiled, 5.0) == math.inf


def test_arrays_hold_never_beside_numbers():
    assert breakeven(10.0, 2.0, np.array([4.0, 2.0, 1.0])).tolist() == [40.0, math.inf, math.inf]
    assert breakeven(np.array([10.0, 20.0]), 2.0, 4.0).tolist() == [40.0, 80.0]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((-1.0, 1.0, 1.0), "compile time is -1.0; give a finite number of at least 0"),
        ((1.0, 0.0, 1.0), "eager rate is 0.0; give a finite number above 0"),
        ((1.0, 1.0, 0.0), "compiled rate is 0.0; give a finite number above 0"),
        ((math.nan, 1.0, 1.0), "compile time is nan"),
    ],
)
def test_bad_values(values, text):
    for function in (breakeven, sensitivity, lambda *v: breakeven_days(*v, 1.0), lambda *v: saving(1.0, *v, 1.0)):
        with pytest.raises(BadValue) as error:
            function(*values)
        assert str(error.value).startswith(text)


def test_bad_volumes():
    for function in (lambda: breakeven_days(1, 1, 2, 0.0), lambda: saving(1, 1, 1, 2, 0.0), lambda: devices_needed(0.0, 1.0)):
        with pytest.raises(BadValue, match=r"^calls per day is 0.0; give a finite number above 0"):
            function()
    with pytest.raises(BadValue, match=r"^days is -1; give a finite number of at least 0"):
        saving(-1, 1, 1, 2, 1)
    with pytest.raises(BadValue, match=r"^devices is 0; give a finite number above 0"):
        saving(1, 1, 1, 2, 1, 0)
    with pytest.raises(BadValue, match=r"^rate is 0; give a finite number above 0"):
        devices_needed(1, 0)


def test_saving_by_hand():
    # a quarter of a second saved by each of 100 calls a day, 10 s to compile
    assert saving(0, 10.0, 2.0, 4.0, 100.0) == -10.0
    assert saving(3, 10.0, 2.0, 4.0, 100.0) == 65.0
    assert saving(3, 10.0, 2.0, 4.0, 100.0, devices=2) == 55.0
    assert saving(1, 10.0, 4.0, 2.0, 100.0) == -35.0  # slower compiled: it only costs
    assert saving(2, 0.0, 2.0, 4.0, 100.0) == 50.0
    assert saving(np.array([0, 3]), 10.0, 2.0, 4.0, 100.0).tolist() == [-10.0, 65.0]


@given(st.floats(0.1, 300), st.floats(1, 5000), st.floats(1.01, 3), st.floats(1, 1e8))
def test_the_saving_is_nothing_at_break_even(compile_s, eager, gain, per_day):
    days = breakeven_days(compile_s, eager, eager * gain, per_day)
    assert saving(days, compile_s, eager, eager * gain, per_day) == pytest.approx(0.0, abs=1e-6 * compile_s)


@pytest.mark.parametrize(
    ("per_day", "rate", "devices"),
    [
        (100e6, 1 / 0.015, 18),  # one device serves 5.76 million
        (86400.0, 1.0, 1),
        (86401.0, 1.0, 2),
        (1.0, 1000.0, 1),
        (3 * 86400.0, 0.5, 6),
    ],
)
def test_devices(per_day, rate, devices):
    assert devices_needed(per_day, rate) == devices
    assert isinstance(devices_needed(per_day, rate), int)


def test_a_day():
    assert compilation.DAY == 24 * 60 * 60


@given(st.floats(1, 100), st.floats(10, 1000), st.floats(1.05, 3))
def test_sensitivity_is_the_logarithmic_derivative(compile_s, eager, gain):
    inputs = {"compile_s": compile_s, "eager_rate": eager, "compiled_rate": eager * gain}
    found = sensitivity(**inputs)
    step = 1e-6
    for name, value in inputs.items():
        up, down = ({**inputs, name: value * math.exp(s)} for s in (step, -step))
        slope = (math.log(breakeven(**up)) - math.log(breakeven(**down))) / (2 * step)
        assert getattr(found, name) == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_sensitivity_by_hand():
    assert sensitivity(30, 1450, 2150) == Sensitivity(1.0, pytest.approx(2150 / 700), pytest.approx(-1450 / 700))
    assert sensitivity(30, 1450, 2150).strongest == "eager_rate"
    assert sensitivity(30, 100, 100) == Sensitivity(1.0, math.inf, -math.inf)
    assert sensitivity(30, 1, 2) == Sensitivity(1.0, 2.0, -1.0)
    assert Sensitivity(1.0, 0.5, -3.0).strongest == "compiled_rate"
    assert Sensitivity(2.0, 1.5, -1.0).strongest == "compile_s"
    assert sensitivity(30, np.array([1.0, 4.0]), np.array([2.0, 2.0])).eager_rate.tolist() == [2.0, math.inf]


# ---- what compiling costs


def measured() -> list[tuple[float, float]]:
    """(kernels, seconds) of every whole model that was compiled."""
    rows = [row for file in evidence("h200_sxm") for row in file.rows if row.kind == "model" and row.mode == "compiled"]
    return [(row.kernels, row.compile_s) for row in rows if row.compile_s is not None and row.kernels is not None]


def test_compile_time_by_hand():
    assert compile_seconds(100, 0.25) == 25.0
    assert compile_seconds(0, 0.25) == 0.0
    assert list(compile_seconds(np.array([10.0, 1000.0]), 0.25)) == [2.5, 250.0]
    with pytest.raises(BadValue, match=r"^kernels is -1;"):
        compile_seconds(-1, 0.25)
    with pytest.raises(BadValue, match=r"^seconds per kernel is 0;"):
        compile_seconds(1, 0)


def test_a_host_compiles_at_its_own_pace():
    """Each machine at the median of its own models; one that compiled none at the H200's, and it says whose that is."""
    for slug in ("h200_sxm", "neoverse_n1_2core"):
        each = [row.compile_s / row.kernels for file in evidence(slug) for row in file.rows if is_compiled(row)]
        assert compile_cost(il.hardware(slug)) == (pytest.approx(median(each), rel=5e-3), il.hardware(slug).name)
    assert compile_cost(il.hardware("t4")) == compile_cost(il.hardware("h200_sxm"))


def is_compiled(row):
    return row.kind == "model" and row.mode == "compiled" and row.compile_s and row.kernels


def test_each_model_by_the_others():
    points = measured()
    assert len(points) == 54
    errors = []
    for i, (kernels, seconds) in enumerate(points):
        others = [s / k for j, (k, s) in enumerate(points) if j != i]
        errors.append(abs(median(others) * kernels / seconds - 1))
    assert median(errors) < 0.3, sorted(errors)
    assert mean(errors) < 0.33, sorted(errors)
