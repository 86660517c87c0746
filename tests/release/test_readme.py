"""The command that the README shows answers as it is printed there."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from ironlaw.cli import main

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_s_command_prints_what_stands_below_it(monkeypatch, capsys):
    _, _, shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("$ ironlaw ")
    command, *lines = shown.partition("…\n```")[0].splitlines()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(ROOT / "docs/examples")
    assert main(command.split()) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    assert len(lines) > 8 and printed[: len(lines)] == lines
