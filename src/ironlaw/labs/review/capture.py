"""The capture spectrum: one function with a branch on its data, five ways to capture it; a recorded run, or one made here."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw import kit
from ironlaw.labs.review.review import Review
from ironlaw.labs.review.spectrum import Run, Runner, spectrum
from ironlaw.widget.piece import Piece

HERE = Path(__file__).parent
MODULE = "ironlaw.tracing.capture_spectrum"
SCRIPT = HERE.parent.parent / "tracing" / "capture_spectrum.py"
WAYS = {"eager": "Eager", "trace": "torch.jit.trace", "script": "torch.jit.script", "fx": "torch.fx", "compile": "torch.compile"}


@cache
def recorded_run() -> dict[str, Any]:
    """A run of the same script, kept with its versions and its day."""
    run: dict[str, Any] = json.loads((HERE / "capture_run.json").read_text(encoding="utf-8"))
    return run


@cache
def code() -> str:
    """The function that is captured, as it stands in the script; the script is read, not imported: it brings PyTorch."""
    source = SCRIPT.read_text(encoding="utf-8")
    function = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "gate")
    return ast.get_source_segment(source, function) or ""


@cache
def runner() -> Runner:
    """One for the process: what was run once is there for every page."""
    return Runner(MODULE, "torch")


def piece(lab: Review) -> Piece:
    def about(way: str, run: Run) -> str:
        slots = {"graphs": run["ways"]["compile"]["graphs"], "first": run["ways"]["compile"]["first"]} if way == "compile" else {}
        return kit.html(lab.words.fill(f"capture.{way}", **slots))

    return spectrum(WAYS, code(), recorded_run(), runner(), about)
