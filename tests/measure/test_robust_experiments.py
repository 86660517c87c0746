"""DP-SGD and PGD in NumPy: the noise that many records hide, gradients against differences, attacks within their ball."""

import numpy as np
import pytest

from ironlaw.measure.compression.nets import images, load
from ironlaw.measure.experiments import dp_sgd, pgd
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled


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
        return -np.log(pgd.softmax(pgd.scores(net, at)))[np.arange(3), y].sum()

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


def test_every_attack_of_the_experiment_at_every_size():
    made = run("pgd", seconds=0.002)["rows"]
    left = {(row["params"]["attack"], row["params"]["epsilon"]): row["value"] for row in made if row["kind"] == "figure"}
    assert len(left) == len(pgd.ATTACKS) * len(pgd.EPSILONS)
    assert all(left[name, max(pgd.EPSILONS)] < left[name, min(pgd.EPSILONS)] for name in pgd.ATTACKS)
    assert [row["best_s"] > 0 for row in made if row["kind"] != "figure"] == [True, True]


def test_both_can_be_stopped():
    for name in ("dp_sgd", "pgd"):
        with pytest.raises(Cancelled):
            run(name, stop=lambda: True)
