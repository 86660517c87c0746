"""Chains of calls: sums by hand, the same calls shuffled, neighbours that leave, and the rows of a run."""

import threading

import pytest

from ironlaw.measure.experiments import tails_trial
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled


def test_sums_and_shuffles():
    assert tails_trial.chains([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]) == [15.0, 40.0]
    seconds = [float(i) for i in range(100)]
    mixed = tails_trial.shuffled(seconds)
    assert sorted(mixed) == seconds != mixed
    slow_together = [1.0] * 95 + [100.0] * 5
    assert max(tails_trial.chains(slow_together)) == 500 > max(tails_trial.chains(tails_trial.shuffled(slow_together)))


def test_neighbours_leave(monkeypatch):
    before = threading.active_count()
    with tails_trial.neighbour():
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    monkeypatch.setattr(tails_trial, "CALLS", 300)
    rows = run("tails")["rows"]
    assert [(row["name"], row["params"]["neighbours"]) for row in rows] == [
        (name, count) for count in (0, 2) for name in ("one", "chain", "independent")
    ]
    one, chain, drawn = rows[:3]
    kept = one["params"]["quantiles"]
    assert kept == sorted(kept) and len(kept) == 501 and kept[495] == pytest.approx(one["params"]["p99_s"], rel=0.2)
    assert one["samples"] == 300 and chain["samples"] == drawn["samples"] == 60
    assert chain["wall_s"] > 4 * one["low_s"] and drawn["params"]["five_times_one_s"] == pytest.approx(5 * one["params"]["p99_s"])
    assert threading.active_count() == before


def test_it_can_be_stopped():
    before = threading.active_count()
    with pytest.raises(Cancelled):
        run("tails", stop=lambda: True)
    assert threading.active_count() == before
