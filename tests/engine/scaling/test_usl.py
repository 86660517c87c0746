"""The Universal Scalability Law and its fit: SciPy, exact points, made-up noise."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from ironlaw.engine.scaling.amdahl import amdahl, gustafson, karp_flatt
from ironlaw.engine.scaling.student import t_quantile
from ironlaw.engine.scaling.usl import best_workers, fit_usl, usl, usl_grown, usl_peak
from ironlaw.errors import BadValue

SIGMAS, KAPPAS = st.floats(0, 0.5), st.floats(0, 0.02)


@given(st.floats(1, 1e4), st.floats(0, 1))
def test_without_crosstalk_it_is_amdahls_and_gustafsons_law(n, sigma):
    assert usl(n, sigma, 0.0) == pytest.approx(amdahl(sigma, n), rel=1e-12)
    assert usl_grown(n, sigma, 0.0) == pytest.approx(gustafson(sigma, n), rel=1e-9)


@given(st.floats(2, 1e3), SIGMAS, KAPPAS)
def test_the_share_that_it_stands_for_grows_with_workers(n, sigma, kappa):
    assert karp_flatt(usl(n, sigma, kappa), n) == pytest.approx(sigma + kappa * n, abs=1e-9)


def test_the_peak_as_scipy_finds_it():
    found = optimize.minimize_scalar(lambda n: -usl(n, 0.05, 0.001), bounds=(1, 1000), method="bounded")
    assert usl_peak(0.05, 0.001) == pytest.approx(found.x, abs=1e-3)
    assert usl_peak(0.05, 0.001) == pytest.approx(30.8, abs=0.05)
    assert usl(usl_peak(0.05, 0.001), 0.05, 0.001) == pytest.approx(9.04, abs=5e-3)
    assert usl_peak(0.05, 0.0) == math.inf == best_workers(0.05, 0.0)
    assert usl_peak(0.9, 0.5) == 1.0 == best_workers(0.9, 0.5)


@given(SIGMAS, st.floats(1e-4, 0.1))
def test_the_best_whole_number(sigma, kappa):
    best = best_workers(sigma, kappa)
    assert usl(best, sigma, kappa) == max(usl(n, sigma, kappa) for n in range(1, 130))
    assert best == int(best) >= 1


def test_on_a_tie_the_fewer_workers():
    """κ = 1/6 and σ = 0: two workers and three both take 2/3 of the time of one."""
    assert best_workers(0.0, 1 / 6) == 2 and usl(2, 0.0, 1 / 6) == pytest.approx(1.5) == usl(3, 0.0, 1 / 6)


def test_a_job_that_grows_pays_for_agreeing_too():
    assert usl_grown(10, 0.1, 0.01) == pytest.approx((0.1 + 0.9 * 10) / 1.09)


@given(SIGMAS, st.floats(0, 0.01))
def test_exact_points_give_both_figures_back(sigma, kappa):
    fit = fit_usl([(n, usl(n, sigma, kappa)) for n in (1, 2, 4, 8, 16, 32)])
    assert (fit.sigma, fit.kappa) == pytest.approx((sigma, kappa), abs=1e-9)
    assert fit.worst < 1e-9 and fit.speedup(8) == pytest.approx(usl(8, sigma, kappa))
    for value, interval in ((sigma, fit.sigma_interval), (kappa, fit.kappa_interval)):
        assert interval is not None and interval[0] - 1e-9 <= value <= interval[1] + 1e-9


def noisy(rng: random.Random, largest: int, noise: float = 0.02) -> list[tuple[float, float]]:
    sizes = [2**k for k in range(1, largest.bit_length())]
    return [(n, usl(n, 0.05, 0.001) * (1 + rng.gauss(0, noise))) for n in sizes]


def test_two_percent_of_noise_is_little_with_many_workers_and_much_with_few():
    rng = random.Random(12)
    near = {largest: sum(is_near(fit_usl(noisy(rng, largest))) for _ in range(200)) / 200 for largest in (16, 128)}
    assert near[128] > 0.9 and near[16] < 0.6


def is_near(fit) -> bool:
    return abs(fit.sigma / 0.05 - 1) < 0.2 and abs(fit.kappa / 0.001 - 1) < 0.2


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = random.Random(5)
    fits = [fit_usl(noisy(rng, 128)) for _ in range(300)]
    hits = sum(fit.sigma_interval[0] <= 0.05 <= fit.sigma_interval[1] for fit in fits)
    assert 0.90 <= hits / 300 <= 0.99


def test_the_fit_and_its_interval_as_scipy_has_them():
    points = noisy(random.Random(3), 64)
    n, speedup = (np.array(column) for column in zip(*points, strict=True))
    (sigma, kappa), covariance = optimize.curve_fit(
        lambda n, sigma, kappa: sigma * (n - 1) + kappa * n * (n - 1), n, n / speedup - 1, sigma=n / speedup, p0=(0.1, 0.01)
    )
    fit = fit_usl(points)
    assert (fit.sigma, fit.kappa) == pytest.approx((sigma, kappa), rel=1e-5)
    reach = stats.t.ppf(0.975, len(points) - 2) * np.sqrt(np.diag(covariance))
    assert fit.sigma_interval == pytest.approx((max(0, sigma - reach[0]), sigma + reach[0]), rel=1e-4)
    assert fit.kappa_interval == pytest.approx((max(0, kappa - reach[1]), kappa + reach[1]), rel=1e-4)


@pytest.mark.parametrize(
    ("speedups", "sigma", "kappa"),
    [([2.2, 4.4, 8.8], 0.0, 0.0), ([1.0, 1.0, 1.0], 1.0, 0.0)],  # better than linear, and no gain at all
)
def test_neither_figure_leaves_its_range(speedups, sigma, kappa):
    fit = fit_usl(list(zip((2, 4, 8), speedups, strict=True)))
    assert (fit.sigma, fit.kappa) == pytest.approx((sigma, kappa), abs=1e-9)


@pytest.mark.parametrize("speedups", [(1.9, 3.8, 7.6), (2.0, 3.9, 5.5), (0.8, 0.6, 0.45), (1.2, 1.25, 1.5), (0.81, 0.74, 0.73)])
def test_on_an_edge_it_is_the_best_as_scipy_finds_it(speedups):
    n = np.array([2.0, 4.0, 8.0])
    s = np.array(speedups)
    a = np.stack([n - 1, n * (n - 1)], axis=1) * (s / n)[:, None]
    best = optimize.lsq_linear(a, (n / s - 1) * s / n, bounds=([0, 0], [1, np.inf]), tol=1e-14)
    fit = fit_usl(list(zip(n, s, strict=True)))
    assert (fit.sigma, fit.kappa) == pytest.approx(tuple(best.x), abs=1e-6)


def test_one_worker_says_nothing_and_three_points_leave_one_degree_of_freedom():
    points = [(2, 1.7), (4, 3.1), (8, 4.0)]
    bare, with_one = fit_usl(points), fit_usl([(1, 1.0), *points])
    assert with_one.sigma_interval == bare.sigma_interval and with_one.kappa_interval == bare.kappa_interval
    n, speedup = (np.array(column, float) for column in zip(*points, strict=True))
    columns = np.stack([n - 1, n * (n - 1)], axis=1) * (speedup / n)[:, None]
    (_, kappa), residual, _, _ = np.linalg.lstsq(columns, 1 - speedup / n)
    reach = stats.t.ppf(0.975, 1) * math.sqrt(residual[0] * np.linalg.inv(columns.T @ columns)[1, 1])
    assert bare.kappa_interval == pytest.approx((max(0.0, kappa - reach), kappa + reach), rel=1e-6)


def test_two_points_leave_nothing_to_judge_by():
    fit = fit_usl([(2, 1.8), (4, 2.9)])
    assert fit.sigma_interval is None and fit.kappa_interval is None and fit.worst < 1e-9
    assert fit.points == ((2.0, 1.8), (4.0, 2.9)) and fit.peak == usl_peak(fit.sigma, fit.kappa)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 6, 7, 20, 61])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.975, 0.999])
def test_students_t_against_scipy(probability, freedom):
    assert t_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: fit_usl([(1, 1), (2, 1.8)]), "one more"), (lambda: fit_usl([(2, 1.8), (2, 1.7)]), "given 1"),
        (lambda: fit_usl([(0.5, 1), (2, 1.8)]), "0.5"), (lambda: fit_usl([(2, 0), (4, 2)]), "on 2 workers"),
        (lambda: usl(0.5, 0.1, 0), "0.5"), (lambda: usl(2, 1.1, 0), "^contention σ is 1.1"), (lambda: usl(2, 0.1, -1), "^crosstalk κ is"),
        (lambda: usl_grown(0.5, 0.1, 0), "0.5"), (lambda: usl_grown(2, 1.1, 0), "^contention σ is 1.1"),
        (lambda: usl_grown(2, 0.1, -1), "^crosstalk κ is -1"),
        (lambda: usl_peak(1.1, 0), "^contention σ is 1.1"), (lambda: usl_peak(0.1, -1), "^crosstalk κ is -1"),
        (lambda: t_quantile(0.4, 3), "0.4"), (lambda: t_quantile(1.0, 3), "1.0"), (lambda: t_quantile(0.9, 0), "0;"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(call, word):
    with pytest.raises(BadValue, match=word):
        call()
