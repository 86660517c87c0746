"""What was measured, on which machine, with what software and method; see FORMAT.md beside this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadRegistry

HERE = Path(__file__).parent
FORMAT = "ironlaw-evidence/1"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One evidence file."""

    name: str  # "h200_sxm/ops"
    machine: dict[str, Any]
    software: dict[str, Any]
    date: str
    method: str
    rows: tuple[dict[str, Any], ...]

    @property
    def source(self) -> str:
        torch = self.software.get("torch")
        return f"evidence {self.name}, {self.date}" + (f", PyTorch {torch}" if torch else "")


def read(path: Path) -> Evidence:
    """One file, checked: the format, and that machine, method, date and rows are there."""
    name = f"{path.parent.name}/{path.stem}"
    try:
        data = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadRegistry(f"evidence {name} is damaged ({error}); measure again or restore the file") from None
    if not isinstance(data, dict):
        raise BadRegistry(f"evidence {name} holds a {type(data).__name__}, not an object; see evidence/FORMAT.md")
    if data.get("format") != FORMAT:
        raise BadRegistry(f"evidence {name} has format {data.get('format')!r}, this version reads {FORMAT}; see evidence/FORMAT.md")
    for key in ("machine", "software", "date", "method", "rows"):
        if not data.get(key):
            raise BadRegistry(f"evidence {name} has no {key}; see evidence/FORMAT.md")
    return Evidence(name, data["machine"], data["software"], data["date"], data["method"], tuple(data["rows"]))


def files(slug: str) -> tuple[Path, ...]:
    return tuple(sorted((HERE / slug).glob("*.json")))


@cache
def evidence(slug: str) -> tuple[Evidence, ...]:
    """All that was measured on a machine; empty where nothing was."""
    return tuple(read(path) for path in files(slug))


@cache
def measured() -> tuple[str, ...]:
    """The slugs of machines that have evidence."""
    return tuple(sorted(path.name for path in HERE.iterdir() if path.is_dir() and any(path.glob("*.json"))))
