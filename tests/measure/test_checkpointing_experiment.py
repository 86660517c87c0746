"""A real job killed by SIGKILL: it goes on from its last save, which is whole; nothing is left of it, however the run ends."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from ironlaw.engine.cluster.failures import goodput, young
from ironlaw.engine.cluster.job_timeline import shares, strip
from ironlaw.measure.experiments import checkpoint_job, checkpointing, folder_guard
from ironlaw.measure.experiments.checkpoint_job import Saved
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled

SMALL = 1 << 16


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An ironlaw home, and a short run in it."""
    place = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRONLAW_HOME", str(place))
        for name, value in {"STATE": SMALL, "FACTORS": (1.0, 4.0), "KILLS": 2, "SHORTEST_S": 0.5, "LONGEST_S": 0.5}.items():
            patch.setattr(checkpointing, name, value)
        yield place, run("checkpointing", seconds=0.0)


def processes(folder: str) -> list[str]:
    """Command lines of this machine that name a folder."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(entry.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if folder in line]


def test_rows_say_what_a_save_and_a_start_took_and_what_is_left(place) -> None:
    folder, measured = place
    rows = {(row["name"], row["params"].get("factor")): row for row in measured["rows"]}
    assert set(rows) == {("goodput", 1.0), ("goodput", 4.0), ("save", None), ("restart", None)}
    first, last = rows["goodput", 1.0], rows["goodput", 4.0]
    assert last["params"]["interval_s"] == pytest.approx(4 * first["params"]["interval_s"], rel=1e-4)
    assert first["params"]["mtbf_s"] == 0.5 and first["samples"] == 2
    for row in (first, last):
        assert 0 <= row["low"] <= row["value"] <= row["high"] <= 100
    assert rows["save", None]["samples"] >= checkpointing.TRIALS and rows["restart", None]["samples"] >= 1
    json.dumps(measured, allow_nan=False)
    assert not list(folder.glob("checkpointing-*")) and not processes(str(folder))


def test_a_killed_job_goes_on_from_its_last_save(tmp_path, monkeypatch) -> None:
    """Each life ends by SIGKILL in the middle of work; the next begins where the last save was, and the state is whole each time."""
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))

    class Quiet:
        stop = None

    with ExitStack() as held:
        job = checkpointing.Job(held, SMALL)
        worked = []
        while len(worked) < 2:  # a life that is killed before its first save adds nothing, whatever the machine is busy with
            after = job.life(0.01, 0.7 + 0.5 * len(job.ups), Quiet())
            assert after >= (worked[-1] if worked else 0.0)
            if after > (worked[-1] if worked else 0.0):
                worked.append(after)
        steps, total = checkpoint_job.head(job.folder)
        assert checkpoint_job.load(job.folder).state.tolist() == [steps] * (SMALL // 4) and total == worked[-1]
        assert job.saves and all(each > 0 for each in job.saves + job.ups)
        folder = job.folder
    assert not folder.exists()


def test_a_stopped_run_leaves_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))
    monkeypatch.setattr(checkpointing, "STATE", SMALL)
    asked = iter([False, False])
    with pytest.raises(Cancelled):
        run("checkpointing", stop=lambda: next(asked, True), seconds=0.0)
    assert not list(tmp_path.glob("checkpointing-*")) and not processes(str(tmp_path))


def test_a_run_that_is_killed_with_all_it_started_leaves_nothing(tmp_path) -> None:
    """As the page's cancel button does it: SIGKILL to the whole group, so nobody is left to clean up but the guard."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ironlaw.measure.experiments", "checkpointing"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "IRONLAW_HOME": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout is not None
    while not list(tmp_path.glob("checkpointing-*/state")):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    for _ in range(600):
        if not list(tmp_path.glob("checkpointing-*")) and not processes(str(tmp_path)):
            break
        time.sleep(0.05)
    assert not list(tmp_path.glob("checkpointing-*")) and not processes(str(tmp_path))


def test_a_save_that_is_cut_short_does_no_harm(tmp_path) -> None:
    whole = Saved(3, 0.5, np.full(1000, 3, np.float32))
    checkpoint_job.save(tmp_path, whole)
    (tmp_path / checkpoint_job.TEMPORARY).write_bytes(b"half a st")
    assert checkpoint_job.head(tmp_path) == (3, 0.5) and checkpoint_job.load(tmp_path).state.sum() == 3000
    (tmp_path / checkpoint_job.NAME).write_bytes((tmp_path / checkpoint_job.NAME).read_bytes()[:-4] + np.float32(2).tobytes())
    with pytest.raises(SystemExit, match="not whole after 3 steps"):
        checkpoint_job.load(tmp_path)


def test_gaps_have_the_stated_mean_and_every_stratum_of_the_law() -> None:
    drawn = checkpointing.gaps(20, 3.0)
    assert sum(drawn) / 20 == pytest.approx(3.0) and drawn != sorted(drawn) and drawn == checkpointing.gaps(20, 3.0)
    assert 0.2 < sum(sorted(drawn)[:10]) / 10 / 3.0 < 0.4  # the lower half of an exponential law has a mean of 0.307


def test_many_drawn_lives_follow_the_law() -> None:
    """What the experiment would come to without noise: gaps of its own strata on the engine's strip, against the formula."""
    save, start, mean = 0.1, 0.3, 1.0
    interval = float(young(save, mean))
    drawn = checkpointing.gaps(4000, mean)
    moments, now = [], 0.0
    for gap in drawn:
        now += gap
        moments.append(now)
    went = shares(strip([1e-9, *moments], interval, save, start, now))  # a start before the first work, too
    assert went.goodput == pytest.approx(goodput(interval, save, start, mean).goodput, rel=0.02)


def test_the_interval_of_a_share() -> None:
    low, high = checkpointing.jackknife([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    assert low == high == 0.5
    low, high = checkpointing.jackknife([0.0, 1.0, 2.0], [2.0, 2.0, 2.0])
    assert low == 0.0 and high == 1.0  # half a point either way, and more than it can be
    low, high = checkpointing.jackknife([0.9, 1.0, 1.1], [2.0, 2.0, 2.0])
    assert high - 0.5 == pytest.approx(1.96 * 0.1 / 2 / math.sqrt(3)) and 0.5 - low == pytest.approx(high - 0.5)


def test_a_folder_that_comes_back_is_removed_again(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "busy"
    folder.mkdir()
    removed = []

    def once(path: Path, ignore_errors: bool) -> None:
        removed.append(path)
        if len(removed) > 2:
            path.rmdir()

    monkeypatch.setattr(folder_guard.shutil, "rmtree", once)
    folder_guard.remove(folder, wait=0.0)
    assert not folder.exists() and len(removed) == 3
