"""What compiling costs is told by a process of its own; whatever goes wrong there is a note."""

import json
import subprocess

import pytest

from ironlaw.measure.devices import compile_cost
from ironlaw.measure.devices.compile_cost import cost, rows

TOLD = {"startup_s": 8.0, "compile_s": 1.5, "eager": 4e-3, "compiled": 1e-3}


def test_rows():
    eager, compiled = rows(TOLD)
    assert (eager["mode"], eager["wall_s"]) == ("eager", 4e-3)
    assert (compiled["mode"], compiled["compile_s"], compiled["startup_s"]) == ("compiled", 1.5, 8.0)


def test_the_process_gets_empty_caches(monkeypatch):
    seen = {}

    def run(command, env, timeout, **_):
        seen.update(env=env, device=command[-1], timeout=timeout)
        return subprocess.CompletedProcess(command, 0, "a warning\n" + json.dumps(TOLD) + "\n", "")

    monkeypatch.setattr(compile_cost.subprocess, "run", run)
    found, notes = cost("cuda", 30.0)
    assert notes == [] and found == rows(TOLD)
    assert (seen["device"], seen["timeout"]) == ("cuda", 30.0)
    assert seen["env"]["TORCHINDUCTOR_CACHE_DIR"] != seen["env"]["TRITON_CACHE_DIR"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (subprocess.TimeoutExpired("python", 3), "abandoned"),
        (subprocess.CalledProcessError(1, "python", stderr="Traceback\nRuntimeError: no compiler"), "RuntimeError: no compiler"),
        (subprocess.CalledProcessError(-9, "python", stderr=""), "no message"),
        (OSError("no memory"), "no memory"),
    ],
)
def test_what_goes_wrong_is_a_note(monkeypatch, error, words):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(compile_cost.subprocess, "run", run)
    found, (note,) = cost("cpu", 3.0)
    assert found == [] and words in note


def test_silence_is_a_note(monkeypatch):
    monkeypatch.setattr(compile_cost.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, "", ""))
    assert "could not be tried" in cost("cpu", 3.0)[1][0]
