"""Whatever can still be read from a damaged file, as an export. (The `.recover` of Debian 12's sqlite3 fails on every file.)"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.ledger import chain, exchange, faults, file
from ironlaw.ledger.place import Place, place
from ironlaw.ledger.salvage import Salvage, select
from ironlaw.ledger.tables import events, head, learner

BROKEN = (sqlite3.Error, UnicodeDecodeError)  # the latter when SQLite's own complaint quotes garbage
OLDEST = tuple(name for name in chain.LINK if name not in ("extra", "prev", "hash"))  # the columns before the chain


def rescue(url: str | os.PathLike[str] | None = None) -> tuple[dict[str, Any], int]:
    """The export, and how many events are known to be lost. The file is only read."""
    source = place(url)
    if source.path is None:
        raise BadValue("rescue is for files; `ironlaw ledger repair` sets a damaged ledger in PostgreSQL aside")
    if not source.path.is_file():
        raise BadValue(f"there is no file {source.path} to rescue; name one in IRONLAW_LEDGER")
    salvage = rescue_file(source, source.path)
    return exchange.pack(salvage.owner, salvage.name, salvage.events), salvage.lost


def rescue_file(source: Place, path: Path) -> Salvage:
    """LedgerDamaged if nothing can be read."""
    try:
        with closing(file.connect(path, "ro")) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            rows, chained = _rows(connection)
            owner, last = _one(connection, f"SELECT id FROM {learner.name}"), _one(connection, f"SELECT events, hash FROM {head.name}")
    except BROKEN as error:
        raise faults.unreadable(source, str(error)) from error
    salvage = select([rows[seq] for seq in sorted(rows)], chained, max(rows, default=0), owner, last)
    if salvage is None:
        raise faults.unreadable(source, "no event can be read")
    return salvage


def _rows(connection: sqlite3.Connection) -> tuple[dict[int, chain.Row], bool]:
    """From the front until an error, from the back until an error, then one by one in between; and whether they have a chain."""
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({events.name})")}
    chained = set(chain.LINK) <= present
    columns = [name if chained or name in OLDEST else "NULL" for name in chain.LINK]
    query = f"SELECT seq, {', '.join(columns)} FROM {events.name}"
    rows: dict[int, chain.Row] = {}

    def read(statement: str, values: Iterable[Any] = ()) -> None:
        with suppress(*BROKEN):
            for row in connection.execute(statement, tuple(values)):
                rows[row[0]] = row[1:]

    connection.execute(f"{query} LIMIT 0")  # raises if not even the tables are readable
    read(f"{query} ORDER BY seq")
    front = max(rows, default=0)
    read(f"{query} WHERE seq > ? ORDER BY seq DESC", [front])
    back = min((seq for seq in rows if seq > front), default=front + 1)
    for seq in range(front + 1, min(back, front + 1_000_000)):  # a number that was damaged may be anything
        read(f"{query} WHERE seq = ?", [seq])
    return rows, chained


def _one(connection: sqlite3.Connection, statement: str) -> chain.Row | None:
    with suppress(*BROKEN):
        row = connection.execute(statement).fetchone()
        return tuple(row) if row else None
    return None
