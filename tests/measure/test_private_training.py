"""DP-SGD against plain SGD and against a loop over examples; stored runs against the same runs trained again."""

import math

import numpy as np
import pytest

from ironlaw.engine.privacy.gaussian import mean_noise
from ironlaw.measure.dp_training import images, tables, training
from ironlaw.measure.dp_training.training import Design, clipped_sum, hits, norms, signal, softmax, train
from ironlaw.registry import private_runs
from ironlaw.registry.private_runs import private_run

FREE = Design(0.0, math.inf, 3.0)


def last(designs, rate=0.04, steps=20, seed=1):
    x, y, _, _ = images.real()
    *_, stop = train(x, y, designs, rate, (steps,), seed)
    return stop


def test_without_noise_and_clipping_it_is_plain_sgd_bit_for_bit():
    x, y, _, _ = images.real()
    draw, weights = np.random.default_rng(1), np.zeros((10, 65, 1), dtype=np.float32)
    for _ in range(20):
        batch = np.flatnonzero(draw.random(len(x)) < 0.04)
        draw.standard_normal((10, 65, 1), dtype=np.float32)  # the stream is the same, with noise or without
        errors = softmax(x[batch], weights)
        errors[y[batch], np.arange(len(batch))] -= 1
        weights = weights - np.float32(3.0) / (0.04 * len(x)) * np.matmul(x[batch].T, errors)
    stop = last([FREE])
    assert np.array_equal(stop.weights, weights) and stop.clipped == 0
    assert np.array_equal(last([Design(0.0, 1e9, 3.0)]).weights, weights)


def test_norms_and_sums_are_those_of_a_loop():
    x, y, _, _ = images.real()
    inputs, labels = x[:9], y[:9]
    weights = np.random.default_rng(3).standard_normal((10, 65, 2)).astype(np.float32)
    clip = np.array([0.2, 0.9], dtype=np.float32)
    total, over = clipped_sum(inputs, labels, weights, clip)
    for at, bound in enumerate(clip):
        each = []
        for example, label in zip(inputs.astype(np.float64), labels, strict=True):
            scores = np.exp(weights[:, :, at].astype(np.float64) @ example)
            error = scores / scores.sum()
            error[label] -= 1
            each.append(np.outer(error, example))
        lengths = [np.linalg.norm(one) for one in each]
        errors = softmax(inputs, weights)
        errors[labels, np.arange(9)] -= 1
        assert norms(inputs, errors)[:, at] == pytest.approx(lengths, rel=1e-5)
        assert total[:, :, at] == pytest.approx(
            sum(one * min(1, bound / length) for one, length in zip(each, lengths, strict=True)), abs=1e-5
        )
        assert over[at] == sum(length > bound for length in lengths)


def test_designs_trained_together_are_as_trained_alone():
    designs = [FREE, Design(1.0, 0.3, 10.0), Design(4.0, 1.0, 3.0)]
    together = last(designs)
    for at, one in enumerate(designs):
        alone = last([one])
        assert together.weights[:, :, at] == pytest.approx(alone.weights[:, :, 0], abs=1e-4)
        assert together.clipped[at] == pytest.approx(alone.clipped[0], abs=2e-3)


def test_noise_has_the_deviation_that_the_accountant_is_told(monkeypatch):
    """No gradient: what is left in the weights after one step is σ · C of noise for each, over the expected batch."""
    monkeypatch.setattr(training, "clipped_sum", lambda *_: (0.0, 0.0))
    stop = last([Design(2.0, 0.5, 1.0)], steps=1)
    assert np.std(stop.weights) == pytest.approx(2.0 * 0.5 / 40, rel=0.08)
    assert np.linalg.norm(stop.weights) == pytest.approx(mean_noise(2.0, 0.5, 40, 650), rel=0.08)


def test_the_signal_is_the_first_steps_mean_gradient():
    x, y, _, _ = images.real()
    start = np.zeros((10, 65, 1), dtype=np.float32)
    for clip in (0.03, 3.0):
        total, _ = clipped_sum(x, y, start, np.array([clip], dtype=np.float32))
        assert signal(x, y, clip) == pytest.approx(np.linalg.norm(total) / len(x), rel=1e-4)
        assert private_runs.signals()[1_000, clip] == pytest.approx(signal(x, y, clip), abs=1e-6)


def test_made_up_digits_are_read_like_real_ones():
    x, y, test_x, test_y = images.drawn(4_000)
    assert len(x) == 4_000 and len(test_y) == images.TESTED and abs(np.linalg.norm(x, axis=1).mean() - 1) < 0.1
    real_x, real_y, _, _ = images.real()
    for digit in range(10):
        assert x[y == digit].mean(axis=0) == pytest.approx(real_x[real_y == digit].mean(axis=0), abs=0.03)
    *_, stop = train(x, y, [Design(0.0, math.inf, 10.0)], 0.04, (250,), 1)
    assert 0.93 < hits(test_x, test_y, stop.weights)[0] / images.TESTED < 0.995


@pytest.mark.parametrize(("rate", "design"), [(0.04, FREE), (0.16, Design(2.0, 0.3, 30.0)), (0.04, Design(8.0, 0.03, 3.0))])
def test_stored_runs_are_what_training_gives(rate, design):
    by_seed = [tables.outcomes(1_000, rate, seed, (design,), (1, 10)) for seed in private_runs.SEEDS]
    for line in tables.lines(1_000, rate, by_seed):
        stored = private_run(1_000, rate, design.noise, design.clip, design.speed, int(line[5]))
        assert [int(count) for count in line[6].split()] == pytest.approx(list(stored.hits), abs=3)
        assert float(line[7]) == pytest.approx(stored.clipped, abs=2e-3)
