"""What was measured, on which machine, with what software and method; see FORMAT.md beside this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ironlaw.backends.rows import SCHEMA, Row
from ironlaw.calibration import local_machine
from ironlaw.errors import BadRegistry
from ironlaw.registry.machines import known_local

HERE = Path(__file__).parent
FORMAT = SCHEMA


HEAD = {"machine": dict, "software": dict, "date": str, "method": str, "rows": list}  # what every file has, and its type


@dataclass(frozen=True, slots=True)
class Evidence:
    """One evidence file."""

    name: str  # "h200_sxm/machine"
    machine: dict[str, Any]
    software: dict[str, Any]
    date: str
    method: str
    rows: tuple[Row, ...]

    @property
    def source(self) -> str:
        torch = self.software.get("torch")
        return f"evidence {self.name}, {self.date}" + (f", PyTorch {torch}" if torch else "")


def read(path: Path) -> Evidence:
    """One file, checked: the format, and that machine, method, date and rows are there."""
    name = f"{path.parent.name}/{path.stem}"
    again = f"update ironlaw, or {local_machine.AGAIN}" if path.parent.name == local_machine.SLUG else "see evidence/FORMAT.md"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRegistry(f"evidence {name} can't be read ({error.strerror or error}); check the permissions of {path}") from None
    except (ValueError, RecursionError) as error:
        raise BadRegistry(f"evidence {name} is damaged ({error}); measure again or restore the file") from None
    if not isinstance(data, dict):
        raise BadRegistry(f"evidence {name} holds a {type(data).__name__}, not an object; see evidence/FORMAT.md")
    if data.get("format") != FORMAT:
        raise BadRegistry(f"evidence {name} has format {data.get('format')!r}, this version reads {FORMAT}; {again}")
    for key, kind in HEAD.items():
        if not data.get(key):
            raise BadRegistry(f"evidence {name} has no {key}; see evidence/FORMAT.md")
        if not isinstance(data[key], kind):
            raise BadRegistry(f"evidence {name}: {key} is a {type(data[key]).__name__}; see evidence/FORMAT.md")
    return Evidence(name, data["machine"], data["software"], data["date"], data["method"], _rows(data["rows"], name))


def _rows(rows: Any, name: str) -> tuple[Row, ...]:
    if not isinstance(rows, list):
        raise BadRegistry(f"evidence {name}: rows is {type(rows).__name__}, not a list; see evidence/FORMAT.md")
    return tuple(Row.from_json(row, f"evidence {name}, row {number}") for number, row in enumerate(rows, 1))


def files(slug: str) -> tuple[Path, ...]:
    place = local_machine.evidence_folder() if slug == local_machine.SLUG else HERE / slug
    return tuple(sorted(path for path in place.glob("*.json") if not path.name.startswith(".")))


def evidence(slug: str) -> tuple[Evidence, ...]:
    """All that was measured on a machine; empty where nothing was."""
    return _read(files(slug), local_machine.stamp(*files(slug))) if slug == local_machine.SLUG else _stored(slug)


@lru_cache(maxsize=4)
def _read(paths: tuple[Path, ...], _: local_machine.Stamp) -> tuple[Evidence, ...]:
    return tuple(read(path) for path in paths)


@cache
def _stored(slug: str) -> tuple[Evidence, ...]:
    return tuple(_file(path) for path in files(slug))


_file = cache(read)


def file(name: str) -> Evidence:
    """One file of a registered machine, `h200_sxm/models`, without reading its others, which are large."""
    slug, _, stem = name.partition("/")
    paths = {path.stem: path for path in files(slug)}
    if stem not in paths:
        known = [f"{slug}/{each}" for each in paths] or _listed()
        raise BadRegistry(f"no evidence {name!r}; choose one of {', '.join(known)}")
    return _file(paths[stem])


def measured() -> tuple[str, ...]:
    """The slugs of machines that have evidence; the one that was measured here comes last."""
    return (*_listed(), local_machine.SLUG) if known_local() and files(local_machine.SLUG) else _listed()


@cache
def _listed() -> tuple[str, ...]:
    return tuple(sorted(path.name for path in HERE.iterdir() if path.is_dir() and any(path.glob("*.json"))))
