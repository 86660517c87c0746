"""Events in SQLite or PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, func, select

from ironlaw.ledger import faults
from ironlaw.ledger.append import append_events
from ironlaw.ledger.chain import CONTENT
from ironlaw.ledger.database import Database
from ironlaw.ledger.events import Event
from ironlaw.ledger.export_format import Chain
from ironlaw.ledger.place import Place
from ironlaw.ledger.sql_tables import VERSION
from ironlaw.ledger.sql_tables import events as table
from ironlaw.ledger.sql_tables import learner as owner

CURRENT = f"SELECT version_num FROM {VERSION}"
COLUMNS = [table.c[field] for field in CONTENT]


class SqlStore:
    """`revision`: of the tables that this version of ironlaw writes."""

    def __init__(self, database: Database, revision: str) -> None:
        self.database, self.revision = database, revision

    def where(self) -> str:
        return str(self.database.place)

    @contextmanager
    def reading(self) -> Iterator[SqlRows]:
        with self.database.reading() as connection:
            yield SqlRows(connection, self.database.place)

    @contextmanager
    def writing(self) -> Iterator[SqlRows]:
        with self.database.writing() as connection:
            if connection.exec_driver_sql(CURRENT).scalar() != self.revision:  # a newer ironlaw has migrated it since it was opened
                raise faults.migrated(self.database.place)
            yield SqlRows(connection, self.database.place)

    def close(self) -> None:
        self.database.close()


class SqlRows:
    def __init__(self, connection: Connection, place: Place) -> None:
        self.connection, self.place = connection, place

    def epoch(self, learner: str) -> int:
        return self.connection.scalar(select(func.max(table.c.epoch)).where(table.c.learner == learner)) or 1

    def epochs(self) -> dict[str, int]:
        newest = select(table.c.learner, func.max(table.c.epoch)).group_by(table.c.learner)
        return {row[0]: row[1] for row in self.connection.execute(newest)}

    def events(self, lab: str | None = None, kind: str | None = None, every_epoch: bool = False) -> list[Event]:
        values = {name: value for name, value in (("lab", lab), ("kind", kind)) if value is not None}
        stored = rows(self.connection, _selection(tuple(values), every_epoch), values)
        return [self._event(*row) for row in stored]

    def chained(self) -> tuple[list[Event], Chain]:
        since = self.connection.scalar(select(owner.c.since))
        stored = rows(self.connection, select(*COLUMNS, table.c.hash).order_by(table.c.seq))
        return [self._event(*row[:-1]) for row in stored], Chain(str(since), [row[-1] for row in stored])

    def append(self, events: Sequence[Event]) -> None:
        append_events(self.connection, events)

    def _event(self, id: str, learner: str, epoch: int, lab: str, attempt: int, kind: str, text: str, time: str, more: str | None) -> Event:
        try:
            payload, extra = json.loads(text), json.loads(more) if more else {}
        except (ValueError, TypeError):
            payload = extra = None
        if not isinstance(payload, dict) or not isinstance(extra, dict):
            raise faults.damaged(self.place, f"event {id} can't be read")
        return Event(id, learner, epoch, lab, attempt, kind, payload, time, extra)


@cache
def _selection(columns: tuple[str, ...], every_epoch: bool) -> Select[Any]:
    """Events in their order, those alone that have given values in these columns. Built once: a page asks dozens of times."""
    wanted = select(*COLUMNS)
    if not every_epoch:
        current = select(table.c.learner, func.max(table.c.epoch).label("epoch")).group_by(table.c.learner).subquery()
        wanted = wanted.join_from(table, current, and_(table.c.learner == current.c.learner, table.c.epoch == current.c.epoch))
    return wanted.where(*(table.c[column] == bindparam(column) for column in columns)).order_by(table.c.seq)


def rows(connection: Connection, wanted: Select[Any], values: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
    """As the driver gives them: texts and numbers need no conversion, and a large ledger has many."""
    result = connection.execute(wanted, values or {})
    try:
        return list(result.cursor.fetchall()) if result.cursor is not None else []
    finally:
        result.close()
