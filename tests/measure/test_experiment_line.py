"""The real line and the real batches, on a clock that only sleeping and working move: every figure follows from a queue's law."""

import pytest

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.line import simulate
from ironlaw.measure.clock import Clock
from ironlaw.measure.experiments import batches, line_trial
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.experiment_list import EXPERIMENTS, takes
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.noise import Reading, Watch
from ironlaw.measure.progress_lines import Cancelled


class Still(Clock):
    """Moves by what sleeps or works, and a microsecond with every reading."""

    def __init__(self):
        self.time = 5.0

    def now(self):
        self.time += 1e-6
        return self.time

    def sleep(self, seconds):
        self.time += seconds


class Nothing:
    """A device with nothing but a clock."""

    queued = False

    def __init__(self, clock):
        self.clock = clock

    def pointwise_chain(self, *_):
        return lambda: self.clock.sleep(1e-4)


@pytest.fixture
def clock():
    return Still()


def bench(clock, **more):
    return Bench(Nothing(clock), clock=clock, seconds=0.001, watch=Watch(lambda: Reading(0.0, 0.0, 0.0), lambda: 0.0), **more)


def test_a_line_on_a_still_clock_is_the_simulated_one(clock):
    rows = list(line_trial.rows(bench(clock), clock.sleep))
    assert [row["params"]["load"] for row in rows] == list(line_trial.LOADS)
    for row in rows:
        load, n = row["params"]["load"], line_trial.LOADS[row["params"]["load"]]
        ideal = simulate(poisson(load / line_trial.SERVICE_S, n, 1, line_trial.SEED), [line_trial.SERVICE_S] * n)
        about = row["params"]
        assert (about["mean_s"], about["p99_s"]) == pytest.approx((ideal.mean, ideal.quantile(0.99)), rel=0.02)
        assert about["in_flight"] == pytest.approx(about["rate"] * about["mean_s"], rel=1e-4)
        assert about["cv2"] < 1e-4 and about["busy"] == pytest.approx(n * line_trial.SERVICE_S / ideal.span, rel=0.02)


def test_a_server_that_batches_is_busy_and_serves_within_two_passes(clock):
    rows = list(batches.rows(bench(clock), clock.sleep, lambda: lambda size: clock.sleep(1e-3)))
    assert [row["params"]["batch"] for row in rows if row["name"] == "time"] == list(batches.SIZES)
    assert all(row["wall_s"] == pytest.approx(1e-3, rel=0.01) for row in rows if row["name"] == "time")
    one, same, more = (row["params"] for row in rows if row["name"] != "time")
    assert one["batch"] == 1.0 and one["busy"] == pytest.approx(0.7, rel=0.15) and one["rate"] == pytest.approx(same["rate"], rel=0.1)
    assert same["p99_s"] < one["p99_s"] and same["p99_s"] < 2.05e-3
    assert more["busy"] > 0.9 and more["p99_s"] < 2.05e-3 and more["batch"] > 2.5


@pytest.mark.parametrize("name", ["line", "batches"])
def test_both_can_be_stopped(name, clock):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 60

    with pytest.raises(Cancelled):
        made = bench(clock, stop=stop)
        list(
            line_trial.rows(made, clock.sleep)
            if name == "line"
            else batches.rows(made, clock.sleep, lambda: lambda size: clock.sleep(1e-3))
        )


def test_for_real_in_a_blink(monkeypatch):
    monkeypatch.setattr(line_trial, "LOADS", {0.5: 6})
    monkeypatch.setattr(line_trial, "SERVICE_S", 5e-4)
    monkeypatch.setattr(batches, "WIDTH", 32)
    monkeypatch.setattr(batches, "SECONDS", 0.001)
    monkeypatch.setattr(batches, "FEWEST", 10)
    for name in ("line", "batches"):
        result = run(name, library="numpy", seconds=0.001)
        assert result["library"].startswith("NumPy ") and all(row["kind"] == "case" and row["wall_s"] > 0 for row in result["rows"])
        assert takes(name) == EXPERIMENTS[name].seconds <= 6
    served = [row["params"] for row in result["rows"] if row["name"] != "time"]
    assert all(row["in_flight"] == pytest.approx(row["rate"] * row["mean_s"], rel=1e-3) for row in served)
