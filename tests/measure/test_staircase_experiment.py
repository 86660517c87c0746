"""Copies up the staircase: bytes that arrive, by real processes and a real file, and nothing that stays."""

import json
import multiprocessing
import os
from contextlib import ExitStack

import numpy as np
import pytest

from ironlaw import home
from ironlaw.kit.complete_runs import complete as _complete
from ironlaw.kit.measured_run import Measured
from ironlaw.measure.experiments import staircase_trial
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled

SIZE = 1 << 14


def pids() -> set[int]:
    return {child.pid for child in multiprocessing.active_children()}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(staircase_trial, "STEPS", {way: (label, SIZE) for way, (label, _) in staircase_trial.STEPS.items()})


@pytest.fixture(scope="module")
def neighbour():
    with ExitStack() as held:
        yield staircase_trial.Neighbour(SIZE, held)


@pytest.mark.parametrize("way", staircase_trial.BETWEEN)
def test_the_other_process_has_every_byte(neighbour, way):
    message = np.random.default_rng(staircase_trial.BETWEEN.index(way)).integers(0, 256, SIZE, np.uint8)
    neighbour.send(way, message)
    assert neighbour.has(SIZE) == message.tobytes()
    neighbour.send(way, message[::-1].copy()[:100])
    assert neighbour.has(100) == message[::-1][:100].tobytes()


def test_what_is_stored_is_on_the_disk_from_the_beginning(tmp_path):
    with open(tmp_path / "file", "w+b", buffering=0) as file:
        for message in (b"a longer message", b"short"):
            staircase_trial.store(file.fileno(), memoryview(message))
        assert (tmp_path / "file").read_bytes() == b"shorter message"[:5] + b"a longer message"[5:]


def test_every_step_has_its_rows_and_nothing_is_left(small, neighbour):
    before = pids()
    result = run("staircase", seconds=0.0)
    assert pids() == before
    assert list(home.path().iterdir()) == []
    sizes = {(row["name"], row["params"]["bytes"]) for row in result["rows"]}
    assert (
        sizes == {(way, size) for way in staircase_trial.STEPS for size in staircase_trial.sizes(way)}
        and (staircase_trial.MEMORY, staircase_trial.SMALL) not in sizes
    )
    assert all(row["samples"] >= 5 and 0 < row["best_s"] <= row["wall_s"] for row in result["rows"])
    json.dumps(result, allow_nan=False)
    kept = Measured("staircase", "NumPy", tuple(result["rows"]), {}, {}, {}, "")
    assert not _complete(kept)  # of other sizes than the labs speak of


def test_stopping_leaves_nothing(small, neighbour):
    before = pids()
    asked = iter([False] * 40 + [True] * 1000)
    with pytest.raises(Cancelled):
        run("staircase", stop=lambda: next(asked), seconds=0.0)
    assert pids() == before and list(home.path().iterdir()) == []


def test_the_other_process_ends_when_nobody_asks_any_more():
    before = pids()
    with ExitStack() as held:
        staircase_trial.Neighbour(SIZE, held)
        (pid,) = pids() - before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
