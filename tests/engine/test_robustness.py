"""What an attack costs in passes, against the arithmetic of registry models; certificates by smoothing against SciPy."""

import pytest
from scipy import stats

import ironlaw as il
from ironlaw.engine.robustness import attack_cost, evaluation_cost, largest_radius, radius, samples_for
from ironlaw.errors import BadValue


def test_passes():
    assert attack_cost(0) == 1 and attack_cost(7) == pytest.approx(17 / 3) and attack_cost(10) == pytest.approx(23 / 3)
    assert attack_cost(5, restarts=2) == attack_cost(10) and evaluation_cost(20) == 41


@pytest.mark.parametrize("model", ["resnet18", "resnet50", "mobilenet_v2"])
def test_counted_op_by_op(model):
    """Plain training needs no gradient of the image, so the first layer has one product less."""
    products = [op.work.matmul_flops for op in il.workload(model).ops if op.work.matmul_flops]
    forward, plain = sum(products), 3 * sum(products) - products[0]
    assert (plain + products[0] + 7 * 2 * forward) / (plain + products[0]) == pytest.approx(attack_cost(7))
    assert (plain + 7 * 2 * forward) / plain == pytest.approx(attack_cost(7), rel=0.05)


def test_certificates():
    assert largest_radius(0.25, 100) == pytest.approx(0.25 * stats.norm.ppf(0.001 ** (1 / 100))) == pytest.approx(0.375, abs=5e-4)
    assert largest_radius(0.25, 100_000) == pytest.approx(0.953, abs=5e-4)
    assert samples_for(0.25, 0.95) == 95_477 and largest_radius(0.25, 95_477) >= 0.95 > largest_radius(0.25, 95_476)
    low = stats.beta.ppf(0.001, 990, 11)
    assert radius(0.5, 990, 1000) == pytest.approx(0.5 * stats.norm.ppf(low)) and radius(0.5, 500, 1000) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: attack_cost(-1), "at least 0"),
        (lambda: attack_cost(1, 0), "restarts"),
        (lambda: radius(1, 5, 4), "no more hits"),
        (lambda: radius(1, 5, 5, 1), "0.001"),
        (lambda: samples_for(0.01, 5), "more noise"),
        (lambda: radius(0, 1, 1), "sigma"),
    ],
)
def test_bad_input_says_what_to_give(call, words):
    with pytest.raises(BadValue, match=words):
        call()
