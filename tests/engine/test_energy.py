"""Energy, carbon and rebound: published runs by hand, closed forms, and properties of the law."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ironlaw as il
from ironlaw.engine.energy import KWH, bill_share, carbon, embodied_share, intensity, of_run, per_token, shifted
from ironlaw.engine.rebound import demand, elasticity_for, energy, marginal_threshold, price, threshold
from ironlaw.errors import BadValue


def test_half_the_joules_is_not_half_the_energy_nor_more():
    """The key: elasticity 1.5, a tenth of the price is electricity."""
    assert energy(2, 1.5, 0.10) == pytest.approx(0.53999, abs=5e-6) and energy(2, 1.5, 1.0) == pytest.approx(math.sqrt(2))
    assert energy(4, 0.0, 0.5) == 0.25 and energy(4, 3.0, 0.0) == 0.25
    assert energy(2, 1.5, 0.1, cost_change=0.5) == pytest.approx(energy(2, 1.5, 1.0)) and energy(2, 1.5, 0.1, pass_through=0.0) == 0.5


@pytest.mark.parametrize(("share", "told"), [(1, 1), (0.5, 2.409), (0.2, 6.579), (0.1, 13.513), (0.05, 27.378), (0.02, 68.968)])
def test_where_it_backfires(share, told):
    assert threshold(2, share) == pytest.approx(told, abs=5e-4)
    assert energy(2, threshold(2, share), share) == pytest.approx(1.0, rel=1e-12)


def test_two_questions_two_thresholds():
    assert threshold(2, 0.1) == pytest.approx(13.51, abs=5e-3) and marginal_threshold(2, 0.1) == pytest.approx(19.0)
    low, high = (energy(g, marginal_threshold(2, 0.1), 0.1) for g in (1.999, 2.001))
    assert low == pytest.approx(high, rel=1e-6)  # flat there
    assert threshold(2, 0.0) == math.inf == marginal_threshold(2, 0.0) and threshold(2, 0.1, cost_change=0.5) == pytest.approx(1.0)


@given(st.floats(1.01, 50), st.floats(0, 5), st.floats(0.01, 1))
def test_more_elastic_demand_never_saves_more(gain, elasticity, share):
    assert energy(gain, elasticity + 0.5, share) >= energy(gain, elasticity, share)
    if elasticity <= 1:
        assert energy(1.1 * gain, elasticity, share) <= energy(gain, elasticity, share) * (1 + 1e-12)


def test_data_centres_of_a_decade():
    """Masanet et al. 2020: services × 6.5, 194 to 205 TWh."""
    gain = 6.5 / (205 / 194)
    assert gain == pytest.approx(6.15, abs=5e-3) and elasticity_for(6.5, gain) == pytest.approx(1.03, abs=5e-3)
    assert elasticity_for(6.5, gain, 0.0) == math.inf and demand(0.5, 2.0) == 4.0 and price(2, 0.5) == 0.75


def test_published_runs():
    """Llama 3.1's model card, GPT-3 and BLOOM: energy from hours and watts, grams per kWh from tonnes."""
    llama = of_run(39.3e6, 700)
    assert llama / KWH == pytest.approx(27.5e6, rel=1e-3) and 11_390e6 / (llama / KWH) == pytest.approx(414, abs=0.5)
    assert pytest.approx(429, abs=0.5) == 552e6 / 1_287e3 and carbon(1_287e3 * KWH, 429) == pytest.approx(552e6, rel=1e-3)
    assert 433_196 * KWH / of_run(1_082_990, 1.0) == pytest.approx(400, abs=0.05)
    assert of_run(1, 1000, 1.2) == pytest.approx(1.2 * KWH) and per_token(2_800, 7_000) == pytest.approx(0.4)


def test_a_generation_is_not_six_times_as_efficient():
    """Dense against dense, SXM against SXM; the V100's figures are NVIDIA's datasheet (125 TFLOP/s at 300 W; PCIe 112 at 250 W)."""
    h100 = il.hardware("h100_sxm")
    dense, power = h100.peaks["fp16"] / 1e12, h100.power
    assert (dense / power) / (125 / 300) == pytest.approx(3.391, abs=5e-3)
    assert (dense / power) / (112 / 250) == pytest.approx(3.154, abs=5e-3) and (2 * dense / power) / (112 / 250) == pytest.approx(
        6.31, abs=5e-3
    )


def test_carbon_before_the_start():
    clean, coal = (embodied_share(175e3, 700, grams, 3, 0.6) for grams in (20, 820))
    assert (clean, coal) == (pytest.approx(0.442, abs=5e-4), pytest.approx(0.019, abs=5e-4))
    assert embodied_share(175e3, 700, 0, 3) == 1.0


def test_what_can_wait_moves_to_clean_hours():
    day = [400.0] * 12 + [100.0] * 12
    assert intensity(day) == 250 and intensity(day, 1.0) == 100 and intensity(day, 0.5) == pytest.approx(175)
    assert intensity(day, 1.0, headroom=1.0) == 250 and intensity(day, 0.5, headroom=1.25) == pytest.approx(212.5)


def test_where_the_load_goes():
    """Half can wait, an hour takes a quarter more than its share: the clean half fills up, the rest stays where it is dirty."""
    day = [400.0] * 12 + [100.0] * 12
    assert shifted(day, 0.5, headroom=1.25) == pytest.approx([0.75] * 12 + [1.25] * 12)
    assert shifted([300.0, 100.0, 200.0], 0.6, headroom=1.9) == pytest.approx([0.4, 1.9, 0.7])
    assert shifted([100.0, 100.0], 0.7) == pytest.approx([1.0, 1.0])  # alike hours share alike


@given(st.lists(st.floats(0, 900), min_size=1, max_size=24), st.floats(0, 1), st.floats(1, 4))
def test_moving_load_loses_none_and_never_dirties_it(hourly, deferrable, headroom):
    loads = shifted(hourly, deferrable, headroom)
    assert sum(loads) == pytest.approx(len(hourly)) and max(loads) <= headroom + 1e-9
    assert intensity(hourly, deferrable, headroom) <= intensity(hourly) + 1e-6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: price(0, 0.5), "above 0"),
        (lambda: price(2, 1.5), "share"),
        (lambda: price(2, 0.5, 2), "pass_through"),
        (lambda: threshold(1, 0.5), "above 1"),
        (lambda: of_run(1, 1, 0.9), "PUE"),
        (lambda: intensity([]), "at least one"),
        (lambda: intensity([1.0], 2), "from 0 to 1"),
        (lambda: intensity([1.0], 0.5, 0.5), "1 or more"),
        (lambda: embodied_share(1, 1, 1, 1, 0), "utilisation"),
        (lambda: demand(0, 1), "price"),
    ],
)
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises(BadValue, match=words):
        call()


def test_electricity_of_a_rented_hour():
    """700 W in a building that draws 1.2 times as much, at 12 cents a kWh: 10.08 cents of an hour that costs two dollars."""
    assert bill_share(700, 1.2, 0.12, 2.0) == pytest.approx(0.0504)
    assert bill_share(700, 1.2, 0.12, 0.05) == 1.0  # an hour that costs less than its electricity is all electricity
    for wrong in ((0, 1.2, 0.12, 2.0), (700, 0.9, 0.12, 2.0), (700, 1.2, 0, 2.0), (700, 1.2, 0.12, 0)):
        with pytest.raises(BadValue):
            bill_share(*wrong)
