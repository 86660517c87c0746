"""Every command that computes has a Python twin: the examples of docs/cli.md, asked both ways, have the same figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from python_twins import CAPTURED, TWINS, check_twins

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
# a list of names, a folder of results, a cluster, a file to start from, a table that was measured, a script: not a question
OTHERS = ("--questions", "--show", "--dask", "--example", "--frontier", "train.py")


def test_every_example_of_the_page_has_a_twin():
    commands = "|".join({line.partition(" ")[0] for line in TWINS})
    page = re.sub(r" \\\n +", " ", DOCS.read_text(encoding="utf-8"))  # a long one goes on after a backslash
    listed = re.findall(rf"^  ironlaw ((?:{commands})\b.*)$", page, re.MULTILINE)
    assert {line for line in listed if not any(word in line for word in OTHERS)} == set(TWINS)


@pytest.mark.parametrize("line", [line for line in TWINS if line not in CAPTURED])
def test_the_command_and_python_say_the_same(sh, line, tmp_path, monkeypatch):
    check_twins(sh, line, tmp_path, monkeypatch)
