"""Whatever can still be read from a damaged file, as an export. (The `.recover` of Debian 12's sqlite3 fails on every file.)"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, IronlawError
from ironlaw.ledger import chain, exchange, faults, file
from ironlaw.ledger.events import Event, check, payload_fault
from ironlaw.ledger.fields import Id
from ironlaw.ledger.place import Place, place
from ironlaw.ledger.tables import events, head, learner

BROKEN = (sqlite3.Error, UnicodeDecodeError)  # the latter when SQLite's own complaint quotes garbage
OLDEST = tuple(name for name in chain.LINK if name not in ("extra", "prev", "hash"))  # the columns before the chain


@dataclass(frozen=True)
class Salvage:
    """Events that are as they were written, whose ledger it was, and how many events are known to be lost."""

    owner: str
    events: Sequence[Event]
    lost: int

    @property
    def name(self) -> str | None:
        names = [event.payload["name"] for event in self.events if event.kind == "named" and not payload_fault("named", event.payload)]
        return names[-1] or None if names else None


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
    return select(source, [rows[seq] for seq in sorted(rows)], chained, max(rows, default=0), owner, last)


def select(source: Place, rows: Sequence[chain.Row], chained: bool, total: int, owner: chain.Row | None, last: chain.Row | None) -> Salvage:
    """Of the rows that could be read, the events that are as they were written. `total`: how many there were, as far as is known."""
    intact = chain.intact(list(rows)) if chained else [True] * len(rows)
    remains = _first_of_each(event for row, whole in zip(rows, intact, strict=True) if whole and (event := _event(row)))
    mine = str(owner[0]) if owner else ""
    if not Id().valid(mine):
        mine = Counter(event.learner for event in remains).most_common(1)[0][0] if remains else ""
    if not mine:
        raise faults.unreadable(source, "no event can be read")
    links = [(row[-2], before[-1]) for before, row in pairwise(rows)]
    gap = not rows or rows[-1][-1] != (last and last[1]) or any(prev != digest for prev, digest in links)
    if last and isinstance(last[0], int) and last[0] > total and gap:  # without a gap, it is the count that was changed
        total = last[0]
    return Salvage(mine, remains, total - len(remains))


def _first_of_each(events: Iterable[Event]) -> list[Event]:
    """Without a second event of the same id, or a second prediction for the same question: their index may have been dropped."""
    chosen: list[Event] = []
    known: set[Any] = set()
    for event in events:
        keys = {event.id, exchange.lock_of(event)} - {None}
        if not keys & known:
            chosen.append(event)
            known |= keys
    return chosen


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


def _event(row: chain.Row) -> Event | None:
    """None if it is incomplete: then it counts as lost."""
    try:
        item = dict(zip(chain.CONTENT, row, strict=False))
        extra = json.loads(item["extra"]) if item["extra"] else {}
        event = Event(**{**item, "payload": json.loads(item["payload"]), "extra": extra})
        check(event, strict=False)
        return event if exchange.parse_time(event.time, "time") == event.time and event.text else None
    except (IronlawError, ValueError, TypeError):
        return None
