"""`ironlaw analyze` on files that misbehave, as a user would run it: a process, its exit code, what it prints, and what it leaves running.

What a file can do to its process without PyTorch is in tests/worker; here the whole command is run, a few seconds each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from attack_length import length

if not find_spec("torch"):  # imported by the command alone: it takes seconds
    pytest.skip("needs PyTorch", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("looks into /proc", allow_module_level=True)

MODEL = """
import os, signal, subprocess, sys, time
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        {inside}
        return x + 1


Net_inputs = torch.empty(4, 8)


def start_children():
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    children = [subprocess.Popen(sleeping, start_new_session=daemon) for daemon in (False, True)]
    with open("pids.new", "w") as file:
        print(*(child.pid for child in children), file=file)
    os.rename("pids.new", "pids")


{outside}
"""
STARTS = "start_children()"


def started(folder: Path, outside: str = "", inside: str = "pass", *more: str) -> subprocess.Popen[str]:
    (folder / "model.py").write_text(MODEL.format(outside=outside, inside=inside))
    command = [sys.executable, "-m", "ironlaw", "analyze", "model.py:Net", "--on", "h100_sxm", "--mode", "eager", *more]
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | path
    )


def ran(*args: object) -> tuple[int, str, str]:
    process = started(*args)  # type: ignore[arg-type]
    out, err = process.communicate(timeout=180)
    assert "Traceback" not in out + err, err
    return process.returncode, out, err


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(folder: Path, within: float = 120.0) -> bool:
    """Whether nothing is left of what the model's file started."""
    pids, until = [int(pid) for pid in (folder / "pids").read_text().split()], time.monotonic() + within
    while any(map(running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(running, pids))


WAYS = {
    "exits": ("sys.exit(0)", "pass", "model.py calls sys.exit(0) at model.py:"),
    "_exits": ("", "os._exit(0)", "ended its own process (exit code 0) before there was a result"),
    "killed": ("", "os.kill(os.getpid(), 9)", "was killed (SIGKILL), most often because the machine ran out of memory"),
}


@pytest.mark.parametrize(("outside", "inside", "words"), [*WAYS.values()][: length(1, 3)], ids=[*WAYS][: length(1, 3)])
def test_never_success_without_a_result(tmp_path, outside, inside, words):
    code, out, err = ran(tmp_path, outside, inside)
    assert (code, out) == (2, "") and words in err.splitlines()[-1] and err.splitlines()[-1].startswith("ironlaw: "), (code, out, err)
    assert not (tmp_path / "pids").exists() or ended(tmp_path)


def test_a_hang_with_children_ends_at_its_limit(tmp_path):
    """A busy machine may need longer than the limit to come to the file's own lines: then once more with a longer one."""
    for limit in (6, 20, 60):
        code, out, err = ran(tmp_path, f"{STARTS}; time.sleep(600)", "pass", "--limit", str(limit))
        assert (code, out) == (2, "") and err.startswith(f"ironlaw: model.py was not done after {limit} s"), (code, out, err)
        assert not (tmp_path / "pids").exists() or ended(tmp_path)
        if f"after {limit} s, and was then at line" in err:
            break
    assert (tmp_path / "pids").exists() and "and was then at line" in err, err


def test_prints_and_children_beside_a_result(tmp_path):
    """JSON stays JSON, at the level of descriptors too; the flood is cut; what the file started ends with the command."""
    flood = f"print('x' * 2_000_000); os.write(1, b'more'); {STARTS}; print('{{}}', flush=True)"
    code, out, err = ran(tmp_path, flood, "print('in the call')", "--json")
    assert code == 0 and json.loads(out)["ops"] == 1, err
    assert 60_000 < len(err) < 70_000 and "the rest of what model.py prints is left out" in err
    assert ended(tmp_path)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", length(["SIGKILL"], ["SIGKILL", "SIGINT"]))
def test_an_end_from_outside_leaves_nothing(tmp_path, name):
    process = started(tmp_path, f"{STARTS}; time.sleep(600)")
    while not (tmp_path / "pids").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=180)
    assert process.returncode == (130 if name == "SIGINT" else -signal.SIGKILL) and "Traceback" not in err
    assert ended(tmp_path)
