"""The examples of docs/cli.md that capture a model, asked of the command and of Python: the same figures (tests/cli has the others)."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
from python_twins import CAPTURED, TWINS, check_twins


@pytest.mark.parametrize("line", [line for line in TWINS if line in CAPTURED])
def test_the_command_and_python_say_the_same(sh, line, tmp_path, monkeypatch):
    check_twins(sh, line, tmp_path, monkeypatch)
