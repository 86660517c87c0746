"""ε of DP-SGD beside Opacus 1.6.0 and dp-accounting 0.6.0, whose figures were computed with those packages and are held here.

Both were asked at the same points and orders; dp-accounting's PLD accountant, which is tighter, is what no upper bound may fall below.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.privacy.accountants import ACCOUNTANTS, BOUNDS, epsilon, sigma_for, step_epsilon, steps_for
from ironlaw.errors import BadValue, UnknownName

MNIST = 256 / 60_000
ABADI, SHORT, MIDDLE, LOUD, RARE = (
    (0.01, 4.0, 10_000, 1e-5), (MNIST, 1.3, 3_525, 1e-5), (MNIST, 1.1, 14_100, 1e-5), (MNIST, 0.7, 10_575, 1e-5),
    (32e-6, 1.1, 10_000, 1e-6),
)  # fmt: skip
REFERENCE = {  # point: RDP at orders 2 … 256, the same at Opacus's default orders, the conversion of 2016, PLD
    ABADI: (1.0354900660362476, 1.0354900660362476, 1.2585747412527164, 0.9469993068930963),
    SHORT: (0.9557739528921629, 0.9557739528921629, 1.1934744087121114, 0.8657607523555237),
    MIDDLE: (2.6007181389429386, 2.6003429386103023, 3.0133421218087317, 2.385210788696457),
    LOUD: (6.3818747100061595, 6.326318562211983, 7.1316549028312375, 5.647266396374342),
    RARE: (0.4092962648738794, 0.4092962648738794, 0.5842380854303095, 0.016574768334459204),
}


@pytest.mark.parametrize("point", REFERENCE)
def test_as_opacus_and_dp_accounting_have_it(point):
    whole, fractional, of_2016, pld = REFERENCE[point]
    assert epsilon(*point) == pytest.approx(whole, rel=1e-9)
    assert epsilon(*point, fractional=True) == pytest.approx(fractional, rel=1e-9)
    assert epsilon(*point, accountant="moments") == pytest.approx(of_2016, rel=1e-9)
    assert min(epsilon(*point, accountant=name) for name in BOUNDS) >= pld


def test_the_limit_is_not_a_bound():
    assert epsilon(*ABADI, accountant="gdp") == pytest.approx(0.9424, abs=5e-5) and REFERENCE[ABADI][3] > 0.9424
    assert epsilon(*LOUD, accountant="gdp") < REFERENCE[LOUD][3] and "gdp" not in BOUNDS
    assert epsilon(1.0, 0.05, 10_000, 1e-5, "gdp") == float("inf")


def test_five_budgets_for_one_run():
    """The key of the first act: theorems that add budgets are far above those that add divergences."""
    told = [epsilon(*ABADI, accountant=name) for name in ACCOUNTANTS]
    assert told == pytest.approx([223.49, 16.844, 1.2586, 1.0355, 0.9424], rel=1e-4)
    assert step_epsilon(0.01, 4.0, 1e-5 / 10_000) == pytest.approx(told[0] / 10_000)


@pytest.mark.parametrize(("sigma", "epochs", "published"), [(1.3, 15, 1.19), (1.1, 60, 3.01), (0.7, 45, 7.10)])
def test_as_a_tutorial_printed_it(sigma, epochs, published):
    """TensorFlow Privacy's three runs on MNIST, batch 256, by the conversion of their year."""
    assert epsilon(MNIST, sigma, epochs * 60_000 // 256, 1e-5, "moments", fractional=True) == pytest.approx(published, abs=5.1e-3)


def test_noise_and_steps_for_a_budget_just_keep_it():
    sigma = sigma_for(3.0, 0.01, 10_000, 1e-5)
    assert epsilon(0.01, sigma, 10_000, 1e-5) <= 3.0 < epsilon(0.01, 0.9999 * sigma, 10_000, 1e-5)
    steps = steps_for(3.0, 0.01, 1.0, 1e-5)
    assert epsilon(0.01, 1.0, steps, 1e-5) <= 3.0 < epsilon(0.01, 1.0, steps + 1, 1e-5)
    assert steps_for(0.01, 1.0, 0.5, 1e-5) == 0
    assert sigma_for(1e3, 1e-4, 1, 0.5) < 0.1


@given(st.floats(1e-4, 0.5), st.floats(0.5, 20), st.integers(1, 10**5), st.floats(1e-9, 1e-3), st.sampled_from(ACCOUNTANTS))
def test_more_of_anything_costs_more(q, sigma, steps, delta, accountant):
    told = epsilon(q, sigma, steps, delta, accountant)
    slack = 1e-9 * (1 + told) if told < float("inf") else 0.0
    assert epsilon(min(1.0, 1.5 * q), sigma, steps, delta, accountant) >= told - slack
    assert epsilon(q, sigma, 2 * steps, delta, accountant) >= told - slack
    assert epsilon(q, 1.5 * sigma, steps, delta, accountant) <= told + slack
    assert epsilon(q, sigma, steps, 10 * delta, accountant) <= told + slack


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: epsilon(0.0, 1, 1, 1e-5), "share of the records"), (lambda: epsilon(0.1, 1e-3, 1, 1e-5), "0.01 or more"),
        (lambda: epsilon(0.1, 1, 0, 1e-5), "1 or more"), (lambda: epsilon(0.1, 1, 1, 1.0), "1e-5"),
        (lambda: epsilon(0.1, 1, 1, 1e-5, "pld"), "rdp"), (lambda: sigma_for(1e-9, 0.5, 10**6, 1e-5), "raise the budget"),
        (lambda: sigma_for(-1, 0.5, 1, 1e-5), "above 0"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises((BadValue, UnknownName), match=words):
        call()
