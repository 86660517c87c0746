"""Evidence files, whole or not at all: written beside their place, forced to the disk, then renamed over it.

An interrupt or a full disk leaves what was there before, and no half file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict, Unpack

from ironlaw.backends.rows import Row
from ironlaw.home import replace_text
from ironlaw.registry.evidence import FORMAT, read


def today() -> str:
    return datetime.now(UTC).date().isoformat()


class Content(TypedDict):
    """What an evidence file says; its date is today's where none is given."""

    machine: Mapping[str, Any]
    software: Mapping[str, Any]
    method: str
    rows: Sequence[Row]
    date: NotRequired[str]
    noise: NotRequired[Mapping[str, Any]]


def text(**content: Unpack[Content]) -> str:
    """An evidence file's text: the head, then one row a line."""
    about = {"machine": dict(content["machine"]), "software": dict(content["software"])}
    head: dict[str, Any] = {"format": FORMAT, **about, "date": content.get("date") or today(), "method": content["method"]}
    if "noise" in content:
        head["noise"] = dict(content["noise"])
    lines = ",\n".join(json.dumps(row.to_json(), allow_nan=False) for row in content["rows"])
    return json.dumps(head, indent=1, allow_nan=False)[:-2] + f',\n "rows": [\n{lines}\n]}}\n'


def write(path: Path, **content: Unpack[Content]) -> Path:
    """Write an evidence file in place of whatever is at `path`."""
    return replace_text(path, text(**content))


def append(
    path: Path,
    rows: Sequence[Row],
    *,
    machine: Mapping[str, Any],
    software: Mapping[str, Any],
    method: str,
    date: str = "",
) -> Path:
    """Add rows to an evidence file, or begin it. The head is that of the newest rows.

    Each new row carries its date; where software or method have changed since, the rows before keep theirs in themselves.
    """
    date = date or today()
    kept: list[Row] = []
    if path.exists():
        old = read(path)
        changed = {
            name: value
            for name, value, now in (("date", old.date, ""), ("software", old.software, dict(software)), ("method", old.method, method))
            if value != now
        }
        kept = [replace(row, extra={**changed, **row.extra}) for row in old.rows]
    fresh = [replace(row, extra={**row.extra, "date": date}) for row in rows]
    return write(path, machine=machine, software=software, method=method, rows=[*kept, *fresh], date=date)
