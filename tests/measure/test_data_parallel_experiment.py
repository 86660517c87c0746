"""Data-parallel steps between real processes: gradients that agree with one process, rows that can be compared, nothing left behind."""

import json
import multiprocessing
import os

import numpy as np
import pytest

from ironlaw.errors import BadValue
from ironlaw.measure.experiments import scaling_trial
from ironlaw.measure.experiments.collectives_trial import Ranks
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled
from ironlaw.measure.rows import case_row


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling_trial, "ROUNDS", 2)
    monkeypatch.setattr(scaling_trial, "BATCHES", (6, 10))


def test_two_processes_take_the_steps_of_one(small: None) -> None:
    """A sum that differs from one process's own is an error of the run; here every batch came through."""
    before = {name: os.environ.get(name) for name in scaling_trial.THREADS}
    measured = run("scaling", seconds=0.0)
    rows = measured["rows"]
    json.dumps(measured, allow_nan=False)
    assert [(row["params"]["batch"], row["params"]["ranks"]) for row in rows if row["name"] == scaling_trial.STEP] == [
        (6, 1), (6, 2), (10, 1), (10, 2),
    ]  # fmt: skip
    assert all(row["samples"] == 2 and 0 < row["best_s"] <= row["wall_s"] for row in rows)
    assert all(row["params"]["wire_s"] <= row["wall_s"] for row in rows if row["name"] == scaling_trial.STEP)
    wire, pairs = scaling_trial.compare(rows)
    assert wire.alpha >= 0 and wire.beta > 0 and [pair.batch for pair in pairs] == [6, 10]
    assert not multiprocessing.active_children()
    assert {name: os.environ.get(name) for name in scaling_trial.THREADS} == before


def test_a_cancelled_run_leaves_no_process(small: None) -> None:
    asked: list[int] = []

    def stop() -> bool:
        asked.append(len(multiprocessing.active_children()))
        return asked[-1] == len(scaling_trial.RANKS)  # as soon as both ranks are there

    with pytest.raises(Cancelled):
        run("scaling", stop=stop, seconds=0.0)
    assert max(asked) == 2 and not multiprocessing.active_children()


def test_the_gradient_is_the_slope() -> None:
    """Against differences of the loss, in double precision."""
    net = scaling_trial.Net()
    net.weights, net.gradient = net.weights.astype(np.float64), net.gradient.astype(np.float64)
    x, y = (part.astype(np.float64) for part in scaling_trial.examples(6))

    def loss() -> float:
        out = x
        for i, matrix in enumerate(net.weights):
            out = out @ matrix
            out = np.maximum(out, 0.0) if i < scaling_trial.LAYERS - 1 else out
        return float(((out - y) ** 2).sum() / 6)

    net.backward(x, y, 6)
    for place in ((0, 3, 7), (2, 100, 5), (3, 9, 500)):
        plain = net.weights[place]
        net.weights[place] = plain + 1e-5
        above = loss()
        net.weights[place] = plain - 1e-5
        below = loss()
        net.weights[place] = plain
        assert net.gradient[place] == pytest.approx((above - below) / 2e-5, rel=1e-3, abs=1e-6)


def test_parts_of_a_batch_add_up_to_it() -> None:
    x, y = scaling_trial.examples(8)
    whole, part = scaling_trial.Net(), scaling_trial.Net()
    whole.backward(x, y, 8)
    total = np.zeros_like(part.gradient)
    for share in (slice(0, 3), slice(3, 8)):
        part.backward(x[share], y[share], 8)
        total += part.gradient
    np.testing.assert_allclose(total, whole.gradient, rtol=1e-3, atol=1e-4)


def test_ranks_that_disagree_are_refused() -> None:
    class Line:
        def __init__(self, check: float) -> None:
            self.check = check

        def send(self, asked: object) -> None: ...
        def recv(self) -> scaling_trial.Answer:
            return scaling_trial.Answer([1.0], [0.5], self.check)

    ranks = object.__new__(Ranks)
    ranks.lines = [Line(1.0), Line(1.1)]
    with pytest.raises(BadValue, match="2 ranks ended with different sums of 64 examples"):
        scaling_trial.ask(ranks, scaling_trial.STEP, 2, 64)


def test_what_is_foretold_by_hand() -> None:
    """α = 1 ms a step and 1 MB/s: two ranks take two steps, and each sends as many bytes as the buffer has."""

    def timing(seconds: float) -> dict[str, float]:
        return {"wall_s": seconds}

    rows = [case_row(scaling_trial.RING, "", {"ranks": 2, "bytes": size}, timing(2e-3 + size / 1e6)) for size in (1_000, 1_000_000)]
    rows += [
        case_row(scaling_trial.STEP, "", {"ranks": 1, "batch": 8, "bytes": 0, "wire_s": 0.0}, timing(4.0)),
        case_row(scaling_trial.STEP, "", {"ranks": 2, "batch": 8, "bytes": 500_000, "wire_s": 0.5}, timing(2.5)),
    ]
    wire, (pair,) = scaling_trial.compare(rows)
    assert wire.alpha == pytest.approx(1e-3) and wire.beta == pytest.approx(1e6)
    assert pair.foretold == pytest.approx(2.0 + 2e-3 + 0.5) and pair.efficiency == pytest.approx(0.8)
