"""The recipe of docs/gate.md, as a runner would run it: a repository, a change, and the two steps that predict and compare."""

import os
import re
import subprocess
from pathlib import Path
from threading import Thread

import pytest
import yaml

from ironlaw.cli import main

ROOT = Path(__file__).parents[2]
MODEL = """import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, {width}), nn.GELU(), nn.Linear({width}, 512))
"""


@pytest.fixture(scope="module")
def steps():
    (recipe,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "gate.md").read_text(encoding="utf-8"), re.DOTALL)
    (job,) = yaml.safe_load(recipe)["jobs"].values()
    return {step["name"]: step for step in job["steps"] if "name" in step}


@pytest.fixture
def runner(tmp_path, monkeypatch, capsys):
    """What a runner gives to a step: a checkout, a folder for temporary files, a summary, and ironlaw on the path.

    That ironlaw asks this process, which has imported PyTorch already: it writes its folder and its words into one pipe and reads what
    is printed from another.
    """
    for folder in ("bin", "repository", "temp"):
        (tmp_path / folder).mkdir()
    asked, answer, code = (tmp_path / name for name in ("asked", "answer", "code"))
    os.mkfifo(asked)
    os.mkfifo(answer)
    program = tmp_path / "bin" / "ironlaw"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" > "{asked}"\ncat "{answer}"\nexit "$(cat "{code}")"\n')
    program.chmod(0o755)
    who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = os.environ | who | {"RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    env |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": os.devnull}

    def run(script, **more):
        """Its exit code and what it printed."""
        step = subprocess.Popen(
            ["bash", "-e", "-c", script], cwd=tmp_path / "repository", env=env | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        ended = Thread(target=lambda: (step.wait(), asked.write_text("")))
        ended.start()
        while words := asked.read_text().splitlines():
            with monkeypatch.context() as there:
                there.chdir(words[0])
                code.write_text(str(main(words[1:])))
            answer.write_text(capsys.readouterr().out)
        ended.join()
        return step.returncode, step.communicate()[0]

    return run


def test_the_recipe_finds_a_slower_model(steps, runner, tmp_path):
    file = tmp_path / "repository" / "model.py"
    file.write_text(MODEL.format(width=2048))
    _, base = runner("git init -q && git add . && git commit -qm base && git rev-parse HEAD")
    file.write_text(MODEL.format(width=65536))
    predict = steps["Predict before and after"]
    code, printed = runner(predict["run"], BASE=base.strip(), PREDICT=predict["env"]["PREDICT"])
    assert code == 0, printed
    code, printed = runner(steps["Compare"]["run"])
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert code == 1, printed
    assert summary.startswith("### model.py:model: ") and "grew by more than 5%" in summary
    assert "❌" in summary and "| linear |" in summary and "h200\\_sxm eager" in summary
    runner('cp "$RUNNER_TEMP/new.json" "$RUNNER_TEMP/old.json"')
    assert runner(steps["Compare"]["run"])[0] == 0
