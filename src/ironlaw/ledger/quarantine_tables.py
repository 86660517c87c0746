"""A broken ledger in PostgreSQL is set aside whole: its tables move to a schema of their own, and what can be read goes on in new ones.

One transaction does all of it, under the writers' lock: either the new ledger is there, or nothing happened.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Connection

from ironlaw.ledger import faults, guards, integrity
from ironlaw.ledger.chain import LINK
from ironlaw.ledger.database import Database
from ironlaw.ledger.salvage import Salvage, select
from ironlaw.ledger.sql_tables import VERSION

Fill = Callable[[Connection, Salvage, str], None]  # new tables, what goes into them, the name of the old ones' schema


def set_aside(database: Database, connection: Connection, fill: Fill) -> tuple[Salvage, str]:
    """What was carried over, and the schema that holds the old tables now."""
    read = connection.exec_driver_sql
    rows = [tuple(row) for row in read(f"SELECT {', '.join(LINK)} FROM ironlaw_events ORDER BY seq")]
    owner, last = integrity.one(read("SELECT id FROM ironlaw_learner")), integrity.one(read("SELECT events, hash FROM ironlaw_head"))
    salvage = select(rows, True, len(rows), owner, last)
    if salvage is None:
        raise faults.unreadable(database.place, "no event can be read")
    old_name = f"ironlaw_broken_{datetime.now(UTC):%Y_%m_%d_%H%M%S_%f}"
    read(f"CREATE SCHEMA {old_name}")
    for table in (*guards.GUARDED, VERSION):
        read(f"ALTER TABLE {table} SET SCHEMA {old_name}")
    for function in guards.FUNCTIONS:
        read(f"ALTER FUNCTION {function}() SET SCHEMA {old_name}")
    fill(connection, salvage, old_name)
    return salvage, old_name
