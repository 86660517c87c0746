"""The capture spectrum: for each way of capturing a function, say what will happen, then see what did.

The outcome comes from a real run: one that was recorded, and says so, or one done here in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.measure.software_host import in_browser
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

OUTCOMES = (("right", "the right result"), ("wrong", "a wrong result, without an error"), ("refused", "an error when it is captured"))
LONGEST_S = 180
Run = Mapping[str, Any]


class Runner:
    """Runs `python -m MODULE` in the background and keeps its output. The page polls until it is done."""

    def __init__(self, module: str, needs: str) -> None:
        self.command = [sys.executable, "-m", module]
        self.installed = find_spec(needs) is not None
        self.result: dict[str, Any] | None = None
        self.error = ""
        self.thread: threading.Thread | None = None

    @property
    def absent(self) -> str:
        """Why it can't run here, and what to do; empty where it can."""
        if in_browser():
            return "A browser can't run PyTorch. To run this for real: pip install ironlaw torch, then ironlaw labs."
        return "" if self.installed else "PyTorch is not installed here. To run this for real: pip install torch."

    @property
    def running(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def start(self) -> None:
        if self.running:
            return
        if not self.installed:
            raise BadValue(f"{self.absent} What is shown was recorded.")
        self.error = ""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            process = subprocess.run(self.command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
            if process.returncode:
                self.error = (process.stderr.strip().splitlines() or [f"exit {process.returncode}"])[-1]
            else:
                self.result = json.loads(process.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            self.error = f"{type(error).__name__}: {error}"


def spectrum(ways: Mapping[str, str], code: str, recorded: Run, runner: Runner, about: Callable[[str, Run], str]) -> Piece:
    """`ways`: id -> name; `about(way, run)` is HTML: what it sees, what breaks it. Called only for a way that has a guess."""
    acts = ActCounter()

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        guesses = state.get("guesses")
        if not isinstance(guesses, dict) or not set(guesses) <= set(ways) or not set(guesses.values()) <= {name for name, _ in OUTCOMES}:
            raise BadValue("say for each way what will happen")
        error = None
        if acts.advanced(state):
            try:
                runner.start()
            except BadValue as refused:
                error = {"dial": None, "message": str(refused)}
        run = runner.result or recorded
        if runner.error:
            error = {"dial": None, "message": f"The run here failed: {runner.error}. What is shown was recorded."}
        outcomes = {way: _outcome(guess, run["ways"][way], about(way, run)) for way, guess in guesses.items()}
        return {"told": outcomes, "source": source(run, runner.result is not None), "running": runner.running, "error": error}

    spec = {
        "id": "spectrum", "ways": [{"id": way, "name": name} for way, name in ways.items()], "code": code,
        "outcomes": [list(pair) for pair in OUTCOMES], "absent": runner.absent,
        "inputs": [f"{recorded[name]}" for name in ("example", "other")],
    }  # fmt: skip
    return Piece("spectrum", spec, compute, {"guesses": {}, "act": 0})


def source(run: Run, is_local: bool) -> str:
    versions = f"PyTorch {run['torch']}, Python {run['python']}, {run['date']}"
    return f"Run here just now: {versions}." if is_local else f"Recorded, not run here: {versions}."


def _outcome(guess: str, run: Mapping[str, Any], about: str) -> dict[str, Any]:
    says = dict(OUTCOMES)[run["outcome"]]
    result = f"{says}: {run['result']}" if run["result"] is not None else f"{says}: {run['error']}"
    return {
        "right": guess == run["outcome"], "result": result, "warnings": list(run["warnings"]), "sees": run["sees"],
        "graphs": run["graphs"], "about": about,
    }  # fmt: skip
