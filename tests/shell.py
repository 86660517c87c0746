"""Commands run through `main(argv)`, in this process: a few milliseconds each."""

from __future__ import annotations

import json

import pytest
from asked_once import ask_once

from ironlaw.cli import main


class Shell:
    """Runs a command and keeps what it printed. Every run must be free of tracebacks."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        code = main([str(word) for word in argv])
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    def out(self, *argv: str) -> str:
        code, out, err = self(*argv)
        assert (code, err) == (0, ""), err
        return out

    def json(self, *argv: str):
        def refuse(name):
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.out(*argv, "--json"), parse_constant=refuse)


@pytest.fixture
def sh(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("IRONLAW_DEBUG", raising=False)
    ask_once(monkeypatch)
    return Shell(capsys)
