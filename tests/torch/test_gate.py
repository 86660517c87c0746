"""The recipe of docs/gate.md, as a runner would run it: a repository, a change, and the two steps that predict and compare."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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
def runner(tmp_path):
    """What a runner gives to a step: a checkout, a folder for temporary files, a summary, and ironlaw on the path."""
    for folder in ("bin", "repository", "temp"):
        (tmp_path / folder).mkdir()
    program = tmp_path / "bin" / "ironlaw"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ironlaw "$@"\n')
    program.chmod(0o755)
    who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = os.environ | who | {"RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    env |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": os.devnull}

    def run(script, **more):
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path / "repository",
            env=env | more,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run


def test_the_recipe_finds_a_slower_model(steps, runner, tmp_path):
    file = tmp_path / "repository" / "model.py"
    file.write_text(MODEL.format(width=2048))
    base = runner("git init -q && git add . && git commit -qm base && git rev-parse HEAD").stdout.strip()
    file.write_text(MODEL.format(width=65536))
    predicted = runner(steps["Predict before and after"]["run"], BASE=base, PREDICT=steps["Predict before and after"]["env"]["PREDICT"])
    assert predicted.returncode == 0, predicted.stderr
    compared = runner(steps["Compare"]["run"])
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert compared.returncode == 1, compared.stderr
    assert summary.startswith("### model.py:model: ") and "grew by more than 5 %" in summary
    assert "❌" in summary and "| linear |" in summary and "h200\\_sxm eager" in summary
    runner('cp "$RUNNER_TEMP/new.json" "$RUNNER_TEMP/old.json"')
    assert runner(steps["Compare"]["run"]).returncode == 0
