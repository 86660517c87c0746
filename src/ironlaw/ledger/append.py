"""Events at the end of the chain."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from ironlaw.errors import AlreadyCommitted
from ironlaw.ledger.chain import CONTENT, link
from ironlaw.ledger.events import Event
from ironlaw.ledger.exchange import stored
from ironlaw.ledger.tables import events as table
from ironlaw.ledger.tables import head


def append_events(connection: Connection, events: Sequence[Event]) -> None:
    """At the end of the chain. The caller holds the writer's lock."""
    if not events:
        return
    prev, rows = connection.scalar(select(head.c.hash)), []
    for event in events:
        content = stored(event)
        digest = link(str(prev), content)
        question = event.question if event.kind == "prediction" else None
        rows.append({**dict(zip(CONTENT, content, strict=True)), "question": question, "prev": prev, "hash": digest})
        prev = digest
    try:
        connection.execute(insert(table), rows)
    except IntegrityError:
        raise AlreadyCommitted(
            "one of these predictions was already committed, or another program wrote at the same moment; nothing was written;"
            " read the ledger again"
        ) from None
    connection.execute(update(head).values(events=head.c.events + len(rows), hash=prev))
