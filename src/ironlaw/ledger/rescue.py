"""Whatever can still be read from a damaged file, as an export. (The `.recover` of Debian 12's sqlite3 fails on every file.)"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from ironlaw.errors import BadValue, IronlawError
from ironlaw.ledger import exchange, faults, file
from ironlaw.ledger.events import Event, check
from ironlaw.ledger.place import Place, place
from ironlaw.ledger.tables import events, learner

BROKEN = (sqlite3.Error, UnicodeDecodeError)  # the latter when SQLite's own complaint quotes garbage
COLUMNS = f"seq, {', '.join(exchange.FIELDS)}"


def rescue(url: str | os.PathLike[str] | None = None) -> tuple[dict[str, Any], int]:
    """The export, and how many events are known to be lost. The file is only read."""
    source = place(url)
    if source.path is None:
        raise BadValue("rescue is for files; restore a PostgreSQL database from its backup")
    if not source.path.is_file():
        raise BadValue(f"there is no file {source.path} to rescue; name one in IRONLAW_LEDGER")
    return _rescue(source, source.path)


def _rescue(source: Place, path: Path) -> tuple[dict[str, Any], int]:
    try:
        with closing(file.connect(path, "ro")) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            rows = _rows(connection)
            owner = _learner(connection)
    except BROKEN as error:
        raise faults.unreadable(source, str(error)) from error
    saved = [event for _, row in sorted(rows.items()) if (event := _event(row))]
    if not saved:
        raise faults.unreadable(source, "no event can be read")
    total = max(rows)  # SQLite numbers them without gaps
    names = [event.payload["name"] for event in saved if event.kind == "named"]
    name = names[-1] or None if names else None
    return exchange.pack(owner or saved[-1].learner or str(uuid4()), name, saved), total - len(saved)


def _rows(connection: sqlite3.Connection) -> dict[int, tuple[Any, ...]]:
    """From the front until an error, from the back until an error, then one by one in between."""
    select = f"SELECT {COLUMNS} FROM {events.name}"
    rows: dict[int, tuple[Any, ...]] = {}

    def read(statement: str, values: Iterable[Any] = ()) -> None:
        with suppress(*BROKEN):
            for row in connection.execute(statement, tuple(values)):
                rows[row[0]] = row[1:]

    connection.execute(f"{select} LIMIT 0")  # raises if not even the tables are readable
    read(f"{select} ORDER BY seq")
    front = max(rows, default=0)
    read(f"{select} WHERE seq > ? ORDER BY seq DESC", [front])
    back = min((seq for seq in rows if seq > front), default=front + 1)
    for seq in range(front + 1, back):
        read(f"{select} WHERE seq = ?", [seq])
    return rows


def _learner(connection: sqlite3.Connection) -> str | None:
    with suppress(*BROKEN):
        row = connection.execute(f"SELECT id FROM {learner.name}").fetchone()
        return str(row[0]) if row else None
    return None


def _event(row: tuple[Any, ...]) -> Event | None:
    """None if it is incomplete: then it counts as lost."""
    try:
        item = dict(zip(exchange.FIELDS, row, strict=True))
        event = Event(**{**item, "payload": json.loads(item["payload"])})
        check(event)
        return event if exchange.parse_time(event.time, "time") == event.time else None
    except (IronlawError, ValueError, TypeError):
        return None
