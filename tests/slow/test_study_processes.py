"""A study on several processes: killed workers, a killed run; nothing lost, nothing counted twice.

A real Dask cluster that loses a worker: tests/release/test_study_dask_cluster.py."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from ironlaw.errors import BadValue
from ironlaw.studies.study_file import study
from ironlaw.studies.study_run import run
from ironlaw.studies.study_store import open_store


def grid(*batches):
    return study({"study": {"question": "predict"}, "over": {"model": ["mlp8_1024", "resnet50"], "hardware": "t4", "batch": list(batches)}})


def keys(path):
    return pq.read_table(path)["key"].to_pylist()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process answers at 80 points."""
    return run(grid(*range(1, 41)), tmp_path_factory.mktemp("alone") / "out", jobs=1)


def test_processes_answer_as_one_does(tmp_path, alone):
    """And a worker that is killed is replaced."""
    victims: list[int] = []

    def kill(share, doing):
        if not victims:
            workers = [child for child in multiprocessing.active_children() if child.name.startswith("SpawnProcess")]
            victims.extend(child.pid for child in workers[:1])
            os.kill(victims[0], signal.SIGKILL) if victims else None

    shared = run(grid(*range(1, 41)), tmp_path / "shared", jobs=2, progress=kill)
    assert victims and shared.rows == alone.rows and sorted(keys(shared.file)) == sorted(keys(alone.file))


FILE = """
[study]
question = "predict"
[over]
model = ["mlp8_1024", "resnet50"]
hardware = "t4"
batch = { from = 1, to = 60, step = 1 }
"""


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    """SIGKILL, as the system gives it when memory runs out: no handler, no farewell."""
    place, out = tmp_path / "s.toml", tmp_path / "out"
    place.write_text(FILE)
    command = [sys.executable, "-m", "ironlaw", "study", str(place), "--out", str(out), "--jobs", "2"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(out.glob("parts/part-*.parquet")):
        assert child.poll() is None
        time.sleep(0.02)
    child.kill()
    child.wait()
    store = open_store(out)
    before = store.rows()
    assert 0 < len(before) < 120 and not store.file.exists()
    resumed = run(grid(*range(1, 61)), out, jobs=1)
    assert resumed.computed == 120 - len(before)
    assert sorted(keys(resumed.file)) == sorted({row["key"] for row in resumed.rows}) and len(resumed.rows) == 120
    assert {row["key"]: row for row in resumed.rows}.items() >= before.items()


def test_no_scheduler_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("ironlaw.studies.on_dask.CONNECT_S", 0.5)
    with pytest.raises(BadValue, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 "):
        run(grid(1), tmp_path, dask="tcp://127.0.0.1:9")
    with pytest.raises(BadValue, match="no Dask scheduler answers at nonsense://x"):
        run(grid(1), tmp_path, dask="nonsense://x")
