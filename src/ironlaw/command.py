"""How this copy of ironlaw is started in a terminal: `ironlaw` where the shell finds it, else the path that works."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

PORT = 2718  # where the labs listen unless another is named or it is taken


def line(*words: str) -> str:
    """`ironlaw measure`, `.venv/bin/ironlaw measure` from where the labs were started, or `python -m ironlaw measure`."""
    return " ".join([program(), *words])


@cache
def program() -> str:
    beside = Path(sys.executable).with_name("ironlaw.exe" if os.name == "nt" else "ironlaw")
    found = shutil.which("ironlaw")
    if found and (not beside.is_file() or Path(found).resolve() == beside.resolve()):
        return "ironlaw"
    if beside.is_file():
        return shlex.quote(_short(beside))
    return f"{shlex.quote(_short(Path(sys.executable)))} -m ironlaw"


def _short(path: Path) -> str:
    """Relative to the working directory, if it is below that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
