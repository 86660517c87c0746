"""DP-SGD and PGD in NumPy: plain SGD without noise, norms against a loop, gradients against differences, attacks within their ball."""

import math

import numpy as np
import pytest

from ironlaw.measure.experiments import dp_sgd, pgd
from ironlaw.measure.experiments.run import run
from ironlaw.measure.progress import Cancelled
from ironlaw.measure.squeeze.nets import images, load


def test_without_noise_and_clip_it_is_plain_sgd():
    x, y = dp_sgd.mixture(300)
    draw, weights = np.random.default_rng(dp_sgd.SEED + 2), np.zeros((x.shape[1], 10))
    for _ in range(5):
        batch = draw.random(300) < 0.2
        slopes = np.zeros_like(weights)
        for one, label in zip(x[batch], y[batch], strict=True):
            error = np.exp(one @ weights) / np.exp(one @ weights).sum()
            error[label] -= 1
            slopes += np.outer(one, error)
        weights -= dp_sgd.SPEED * slopes / 60
    assert dp_sgd.train(x, y, 0.0, math.inf, 5, 0.2) == pytest.approx(weights, abs=1e-12)
    assert np.array_equal(dp_sgd.train(x, y, 0.0, 1e9, 5, 0.2), dp_sgd.train(x, y, 0.0, math.inf, 5, 0.2))


def test_norms_are_a_loops():
    random = np.random.default_rng(0)
    inputs, errors = random.standard_normal((7, 5)), random.standard_normal((7, 3))
    assert dp_sgd.norms(inputs, errors) == pytest.approx([np.linalg.norm(np.outer(a, b)) for a, b in zip(inputs, errors, strict=True)])


def test_many_records_hide_the_noise():
    told = {(row["params"]["records"], row["params"]["noise"]): row for row in run("dp_sgd")["rows"]}
    assert len(told) == len(dp_sgd.CASES) and told[20_000, 4.0]["params"]["epsilon"] > 0
    assert told[20_000, 2.0]["value"] > told[20_000, 0.0]["value"] - 3 and told[1_000, 4.0]["value"] < told[1_000, 0.0]["value"] - 3
    assert told[1_000, 1.0]["params"]["epsilon"] > told[1_000, 4.0]["params"]["epsilon"]


def network():
    return [(layer.weight.astype(float), layer.bias.astype(float)) for layer in load("mlp").layers]


def test_the_gradient_of_an_image_against_differences():
    net, (x, y) = network(), images()
    x, y = x[:3].astype(float), y[:3]

    def loss(at):
        return -np.log(dp_sgd.softmax(pgd.scores(net, at)))[np.arange(3), y].sum()

    told = pgd.gradient(net, x, y)
    for image, pixel in ((0, 20), (1, 35), (2, 42)):
        high, low = x.copy(), x.copy()
        high[image, pixel] += 1e-5
        low[image, pixel] -= 1e-5
        assert told[image, pixel] == pytest.approx((loss(high) - loss(low)) / 2e-5, rel=1e-3, abs=1e-9)


def test_an_attack_stays_within_its_ball_and_more_of_it_hurts_more():
    net, (x, y) = network(), images()
    moved = pgd.attack(net, x, y, 0.1, 5, True)
    assert np.abs(moved - x).max() <= 0.1 + 1e-12 and moved.min() >= 0 and moved.max() <= 1
    assert np.array_equal(pgd.attack(net, x, y, 0.0, 1, False), x)
    right = [int((pgd.scores(net, pgd.attack(net, x, y, e, 10, True)).argmax(axis=1) == y).sum()) for e in (0.0, 0.05, 0.1, 0.2)]
    assert right == sorted(right, reverse=True) and right[0] > 0.95 * len(y) > right[-1]
    weak = int((pgd.scores(net, pgd.attack(net, x, y, 0.1, 1, False)).argmax(axis=1) == y).sum())
    assert right[2] <= weak + 1


def test_both_can_be_stopped():
    for name in ("dp_sgd", "pgd"):
        with pytest.raises(Cancelled):
            run(name, stop=lambda: True)
