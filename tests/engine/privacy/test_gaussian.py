"""One release with normal noise, against SciPy's normal and published figures; budgets put together; what an attacker is left with."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from ironlaw.engine.privacy.accountants import limit_mu
from ironlaw.engine.privacy.attacks import accuracy, advantage, gaussian_advantage, missed, noise_accuracy, noise_missed
from ironlaw.engine.privacy.composition import compose, queries
from ironlaw.engine.privacy.gaussian import classical_sigma, gaussian_delta, gaussian_epsilon, gaussian_sigma, mean_noise
from ironlaw.engine.streams import normal
from ironlaw.errors import BadValue, UnknownName


@given(st.floats(0.2, 20), st.floats(0, 10))
def test_the_exact_delta(sigma, epsilon):
    near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    told = norm.cdf(near) - math.exp(epsilon + norm.logcdf(far))
    assert gaussian_delta(sigma, epsilon) == pytest.approx(max(0.0, told), rel=1e-7, abs=1e-14)


def test_the_least_noise():
    told = [gaussian_sigma(*point) for point in ((1, 1e-5), (1, 1e-6), (8, 1e-5))]
    assert told == pytest.approx([3.7306, 4.2247, 0.6002], abs=5e-5)
    for sigma, (epsilon, delta) in zip(told, ((1, 1e-5), (1, 1e-6), (8, 1e-5)), strict=True):
        assert gaussian_delta(sigma, epsilon) == pytest.approx(delta, rel=1e-9)
        assert gaussian_epsilon(sigma, delta) == pytest.approx(epsilon, rel=1e-9)
    assert gaussian_epsilon(100.0, 0.1) == 0.0


def test_the_classical_formula_is_for_small_budgets():
    assert classical_sigma(1, 1e-5) == pytest.approx(4.8448, abs=5e-5) and gaussian_delta(classical_sigma(1, 1e-5), 1) < 1e-5
    assert gaussian_delta(classical_sigma(10, 1e-5), 10) == pytest.approx(2.27e-5, rel=5e-3)


def test_noise_is_shared_by_the_records_of_a_batch():
    """Per parameter σC over the batch; at a fixed sampling rate ten times the records leave a tenth."""
    assert mean_noise(2.0, 0.5, 40) == 0.025 and mean_noise(2.0, 0.5, 40, 100) == pytest.approx(0.25)
    assert mean_noise(4.0, 1.0, 0.01 * 60_000) == pytest.approx(mean_noise(4.0, 1.0, 0.01 * 6_000) / 10)
    with pytest.raises(BadValue, match="batch"):
        mean_noise(1.0, 1.0, 0)


def test_far_out_the_tail_goes_on_smoothly():
    assert gaussian_delta(0.01, 1_000.0) == pytest.approx(norm.cdf(40) - math.exp(1_000 + norm.logcdf(-60)), rel=1e-9)
    assert 0 <= gaussian_delta(5.0, 100.0) < 1e-300


def test_queries_with_laplace_noise():
    assert [queries(kind, 0.01, 10, 1e-5) for kind in ("basic", "advanced", "zcdp")] == [1_000, 24_605, 31_007]
    assert compose("advanced", [0.01] * 24_605, slack=1e-5)[0] <= 10 < compose("advanced", [0.01] * 24_606, slack=1e-5)[0]
    assert compose("zcdp", [0.01] * 31_007, slack=1e-5)[0] <= 10 < compose("zcdp", [0.01] * 31_008, slack=1e-5)[0]
    assert compose("basic", [0.5, 0.25], [1e-6, 2e-6]) == (0.75, pytest.approx(3e-6))
    assert compose("advanced", [0.1, 0.1], [1e-6, 2e-6], 1e-6)[1] == pytest.approx(4e-6)
    assert queries("advanced", 5.0, 1.0, 1e-5) == 0


def test_what_an_attacker_is_left_with():
    assert advantage(1) == pytest.approx(0.46212, abs=5e-6) and accuracy(1) == pytest.approx(0.73106, abs=5e-6)
    assert accuracy(3) == pytest.approx(0.9526, abs=5e-5)
    assert advantage(0, 1e-5) == pytest.approx(1e-5) and advantage(80, 1e-5) == pytest.approx(1.0)
    assert missed(0.0, 2.0) == 1.0 and missed(1.0, 2.0) == 0.0 and missed(0.5, 800.0) == 0.0
    corner = 1 / (1 + math.e)  # where both lines of the curve meet: the best sum of the two errors
    assert 1 - corner - missed(corner, 1.0) == pytest.approx(advantage(1))


def test_a_simulated_test_of_two_gaussians():
    """The best test of N(0, σ²) against N(1, σ²) says yes above ½; no test does better than the bound of any (ε, δ) of the mechanism."""
    sigma, n = 1.5, 20_000
    draws = [sigma * z for z in normal(4, 2 * n)]
    alarms = sum(1 + z > 0.5 for z in draws[:n]) / n - sum(z > 0.5 for z in draws[n:]) / n
    assert alarms == pytest.approx(gaussian_advantage(sigma), abs=0.01)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert advantage(epsilon, gaussian_delta(sigma, epsilon)) >= gaussian_advantage(sigma) - 1e-12
    assert advantage(0.0, gaussian_delta(sigma, 0.0)) == pytest.approx(gaussian_advantage(sigma))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: compose("basic", []), "at least one"), (lambda: compose("basic", [1.0], [1e-5, 1e-5]), "as many"),
        (lambda: compose("magic", [1.0], slack=1e-5), "basic"), (lambda: compose("zcdp", [1.0], [1e-5], 1e-5), "leave the deltas out"),
        (lambda: compose("advanced", [1.0]), "delta"), (lambda: compose("basic", [-1.0]), "at least 0"),
        (lambda: queries("magic", 1, 1, 1e-5), "basic"), (lambda: advantage(1, 2), "from 0 to 1"), (lambda: missed(2, 1), "from 0 to 1"),
        (lambda: gaussian_sigma(1, 0), "1e-5"), (lambda: gaussian_sigma(0, 1e-5), "above 0"), (lambda: gaussian_delta(1, -1), "at least 0"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises((BadValue, UnknownName), match=words):
        call()


def test_the_best_test_against_normal_noise():
    """By hand: Φ(1/2σ) at σ = 3.731 is 55.3%, where (1, 10⁻⁵) alone would allow 73.1; DP-SGD with q = 1%, σ = 4 and 10⁴ steps, whose
    privacy loss has a total variation of 0.1010, 55.05%. With 10% false alarms it misses 84.8% of the members."""
    assert noise_accuracy(1 / 3.7310) == pytest.approx(0.5533, abs=1e-4) and accuracy(1.0) == pytest.approx(0.7311, abs=1e-4)
    mu = limit_mu(0.01, 4.0, 10_000)
    assert noise_accuracy(mu) == pytest.approx(0.5505, abs=1e-4) and noise_missed(0.1, mu) == pytest.approx(0.848, abs=1e-3)
    assert noise_accuracy(1 / 2.0) == pytest.approx(0.5 + gaussian_advantage(2.0) / 2)
    assert (noise_missed(0.0, mu), noise_missed(1.0, mu), noise_missed(0.3, 0.0)) == (1.0, 0.0, pytest.approx(0.7))
