"""On a fresh clone one worker compiles the tests (pytest rewrites every assert), and the others then read what it has stored.

Compiling is half of what collecting takes. All workers must have collected before the first test runs, so nothing is won by doing it twice
at the same time; and the cores have other work meanwhile (scripts/side_by_side.py).
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LONGEST = 180.0  # seconds that a worker waits: the first may have died


class Asked:
    """Of the first process: it tells each worker whether the tests were compiled before."""

    def __init__(self, paths: list[str]):
        folders = [Path(path.partition("::")[0]) for path in paths]
        self.compiled = any(any(folder.rglob("__pycache__/test_*-pytest-*.pyc")) for folder in folders if folder.is_dir())

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["compiled"] = self.compiled


class InTurn:
    """Of a worker."""

    def __init__(self, worker: dict[str, Any]):
        self.first = worker["workerid"] == "gw0"
        self.compiled = worker["compiled"]
        self.done = Path(tempfile.gettempdir()) / f"ironlaw-collected-{worker['testrunuid']}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Iterator[None]:
        until = time.monotonic() + LONGEST
        while not (self.first or self.compiled or self.done.exists() or time.monotonic() > until):
            time.sleep(0.05)
        try:
            return (yield)
        finally:
            if self.first:
                self.done.touch()

    def pytest_unconfigure(self) -> None:
        if self.first:
            self.done.unlink(missing_ok=True)


def watch(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    config.pluginmanager.register(Asked(config.args) if worker is None else InTurn(worker))
