"""The examples of docstrings that need PyTorch, and the one of docs/analyze.md, run as they stand."""

import doctest
import re
import sys
from pathlib import Path

from ironlaw.tracing import capture as function


def test_capture_s_example_runs():
    tried = doctest.testmod(sys.modules[function.__module__])
    assert tried.attempted >= 4 and not tried.failed


def test_the_guide_s_example_runs(capsys):
    text = (Path(__file__).parents[2] / "docs" / "analyze.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"## From Python\n.*?```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "docs/analyze.md", "exec"), {})
    out = capsys.readouterr().out
    assert "<Prediction Sequential" in out and "<Analysis Sequential: 3 operators" in out
