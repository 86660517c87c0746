"""Events at the end of the chain."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from ironlaw.errors import AlreadyCommitted
from ironlaw.ledger.chain import CONTENT, link
from ironlaw.ledger.events import Event
from ironlaw.ledger.export_format import stored
from ironlaw.ledger.sql_tables import events as table
from ironlaw.ledger.sql_tables import head

COLUMNS = (*CONTENT, "question", "prev", "hash")
LAST = select(head.c.hash)
INSERT = insert(table)
MOVE = update(head).values(events=head.c.events + bindparam("more"), hash=bindparam("last"))
MANY = 100  # rows from which SQLite's own driver is faster than SQLAlchemy
BULK = f"INSERT INTO {table.name} ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


def append_events(connection: Connection, events: Sequence[Event]) -> None:
    """The caller holds the writer's lock. Nothing is written if one of them can't be."""
    if not events:
        return
    prev = str(connection.scalar(LAST))
    rows = []
    for event in events:
        content = stored(event)
        digest = link(prev, content)
        rows.append((*content, event.question if event.kind == "prediction" else None, prev, digest))
        prev = digest
    try:
        if len(rows) >= MANY and connection.dialect.name == "sqlite":
            connection.exec_driver_sql(BULK, rows)
        else:
            connection.execute(INSERT, [dict(zip(COLUMNS, row, strict=True)) for row in rows])
    except IntegrityError:
        raise AlreadyCommitted(
            "one of these predictions was already committed, or another program wrote at the same moment; nothing was written;"
            " read the ledger again"
        ) from None
    connection.execute(MOVE, {"more": len(rows), "last": prev})
