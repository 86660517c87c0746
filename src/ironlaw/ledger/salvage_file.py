"""Whatever can still be read from a damaged file, as an export. (The `.recover` of Debian 12's sqlite3 fails on every file.)"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.ledger import chain, export_format, faults, file, log
from ironlaw.ledger.place import Place, place
from ironlaw.ledger.salvage import Salvage, select
from ironlaw.ledger.sql_tables import events, head, learner

BROKEN = (sqlite3.Error, UnicodeDecodeError)  # the latter when SQLite's own complaint quotes garbage
MOST_NEW = 10_000  # pages by which a log may make its file longer
OLDEST = tuple(name for name in chain.LINK if name not in ("extra", "prev", "hash"))  # the columns before the chain


def rescue(url: str | os.PathLike[str] | None = None) -> tuple[dict[str, Any], int]:
    """The export, and how many events are known to be lost. The file is only read."""
    source = place(url)
    if source.path is None:
        raise BadValue("rescue is for files; `ironlaw ledger repair` sets a damaged ledger in PostgreSQL aside")
    if not source.path.is_file():
        raise BadValue(f"there is no file {source.path} to rescue; name one in IRONLAW_LEDGER")
    salvage = rescue_file(source, source.path)
    return export_format.pack(salvage.owner, salvage.name, salvage.events), salvage.lost


def rescue_file(source: Place, path: Path) -> Salvage:
    """LedgerDamaged if nothing can be read. Where the log is damaged, also what SQLite leaves out of it: the chain's hashes judge."""
    salvage, reason = _rescue(source, lambda: file.connect(path, "ro"))
    if log.fault(path):
        beyond, _ = _rescue(source, lambda: _with_whole_log(path))
        salvage = max((each for each in (salvage, beyond) if each), key=lambda each: len(each.events), default=None)
    if salvage is None:
        raise faults.unreadable(source, reason)
    return salvage


def _rescue(source: Place, connect: Callable[[], sqlite3.Connection]) -> tuple[Salvage | None, str]:
    """What this connection can read, or why nothing."""
    try:
        with closing(connect()) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            rows, chained = _rows(connection)
            owner, last = _one(connection, f"SELECT id FROM {learner.name}"), _one(connection, f"SELECT events, hash FROM {head.name}")
    except BROKEN as error:
        return None, str(error)
    return select([rows[seq] for seq in sorted(rows)], chained, max(rows, default=0), owner, last), "no event can be read"


def _with_whole_log(path: Path) -> sqlite3.Connection:
    """The file with every page of its log laid over it, in memory."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as alone:  # past the log, and past its locks
        content = bytearray(alone.serialize())
    for page in log.pages(path):
        start = (page.number - 1) * len(page.data)
        if 0 <= start <= len(content) + len(page.data) * MOST_NEW:  # a number that was damaged may be anything
            content.extend(bytes(max(0, start - len(content))))
            content[start : start + len(page.data)] = page.data
    content[18:20] = b"\x01\x01"  # not a file with a log any more: SQLite would look for it
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(content))
    return connection


def _rows(connection: sqlite3.Connection) -> tuple[dict[int, chain.Row], bool]:
    """Rows from the front until an error, from the back until an error, then one by one in between; and whether they have a chain."""
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({events.name})")}
    chained = set(chain.LINK) <= present
    columns = [name if chained or name in OLDEST else "NULL" for name in chain.LINK]
    query = f"SELECT rowid, {', '.join(columns)} FROM {events.name}"
    rows: dict[int, chain.Row] = {}

    def read(statement: str, values: Iterable[Any] = ()) -> None:
        with suppress(*BROKEN):
            for row in connection.execute(statement, tuple(values)):
                rows[row[0]] = row[1:]  # by rowid, which is a number whatever a damaged schema says of seq

    connection.execute(f"{query} LIMIT 0")  # raises if not even the tables are readable
    read(f"{query} ORDER BY rowid")
    front = max(rows, default=0)
    read(f"{query} WHERE rowid > ? ORDER BY rowid DESC", [front])
    back = min((seq for seq in rows if seq > front), default=front + 1)
    for seq in range(front + 1, min(back, front + 1_000_000)):  # a number that was damaged may be anything
        read(f"{query} WHERE rowid = ?", [seq])
    return rows, chained


def _one(connection: sqlite3.Connection, statement: str) -> chain.Row | None:
    with suppress(*BROKEN):
        row = connection.execute(statement).fetchone()
        return tuple(row) if row else None
    return None
