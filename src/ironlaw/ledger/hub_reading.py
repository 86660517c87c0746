"""Reading the ledgers of a hub's users, for whoever teaches them.

A user owns the tables of their schema and can put anything in their place, such as a view that calls a function. So each ledger is
read by its user's own role, which reaches nothing else: what such a function does, they could have done themselves. The
administrator's role only asks which schemas there are and how much was written to them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from ironlaw.errors import LedgerUnavailable, MissingExtra
from ironlaw.ledger import export_format, hub_ledger
from ironlaw.ledger.events import MAX_PAYLOAD
from ironlaw.ledger.place import Place

MOST_EVENTS = 20_000  # of a ledger; a course has a few hundred
AT_ONCE = 200
LONGEST_S, WAIT_S = 5, 5  # for a statement, for a connection
SCHEMAS = """
SELECT n.nspname, pg_catalog.obj_description(n.oid, 'pg_namespace'), coalesce(s.n_tup_ins, 0)
FROM pg_catalog.pg_namespace n
LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.schemaname = n.nspname AND s.relname = 'ironlaw_events'
WHERE pg_catalog.starts_with(n.nspname, 'ironlaw_') ORDER BY n.nspname
"""
OPTIONS = f"-c statement_timeout={1000 * LONGEST_S} -c default_transaction_read_only=on -c default_transaction_isolation=repeatable\\ read"


def users(admin: Place) -> dict[str, int]:
    """The hub's users, and how many events were ever written to each one's schema."""
    psycopg = driver()
    try:
        with psycopg.connect(hub_ledger.address(admin), connect_timeout=WAIT_S) as connection:
            rows = connection.execute(SCHEMAS).fetchall()
    except psycopg.Error as error:
        raise _unavailable(admin, error) from None
    listed = {}
    for schema, comment, written in rows:
        user = str(comment or "").removeprefix(hub_ledger.COMMENT)
        if user and hub_ledger.schema_of(user) == schema:  # only the administrator's role can write a schema's comment
            listed[user] = int(written)
    return listed


def export_of(admin: Place, user: str, key: str, largest: int) -> Mapping[str, Any] | None:
    """A user's ledger as its export would be, unchecked; None where there is none yet. ValueError and TypeError: that is not a ledger."""
    psycopg, schema = driver(), hub_ledger.schema_of(user)
    try:
        return _export(psycopg, hub_ledger.address(admin, schema, key), schema, largest)
    except psycopg.errors.UndefinedTable:
        return None
    except psycopg.Error as error:
        raise _unavailable(admin, error) from None


def _unavailable(admin: Place, error: Exception) -> LedgerUnavailable:
    reason = " ".join(str(error).split())[:300]
    return LedgerUnavailable(f"{admin} does not answer ({reason}); check its address, its key, and that it is running")


def _export(psycopg: Any, address: str, schema: str, largest: int) -> Mapping[str, Any]:
    """The ledger as its export would be. Every name is written with its schema: the role's own search path is the learner's to set."""
    sql = psycopg.sql
    table = {name: sql.Identifier(schema, f"ironlaw_{name}") for name in ("learner", "head", "events")}
    with psycopg.connect(address, connect_timeout=WAIT_S, options=OPTIONS) as connection:
        owner = connection.execute(sql.SQL("SELECT id, since FROM {} LIMIT 1").format(table["learner"])).fetchone()
        head = connection.execute(sql.SQL("SELECT events, hash FROM {} LIMIT 1").format(table["head"])).fetchone()
        if owner is None or head is None:
            raise ValueError("it has no owner")
        wanted = sql.SQL(
            "SELECT id, learner, epoch, lab, attempt, kind, pg_catalog.left(payload, {most}), time, pg_catalog.left(extra, {most}), hash"
            " FROM {events} ORDER BY seq LIMIT {events_most}"
        ).format(events=table["events"], most=sql.Literal(MAX_PAYLOAD + 1), events_most=sql.Literal(MOST_EVENTS + 1))
        items: list[dict[str, Any]] = []
        size, until = 0, time.monotonic() + 2 * LONGEST_S
        with connection.cursor(name="ironlaw") as cursor:
            cursor.execute(wanted)
            while rows := cursor.fetchmany(AT_ONCE):
                size += sum(len(value) for row in rows for value in row if isinstance(value, str))
                if size > largest or len(items) + len(rows) > MOST_EVENTS or time.monotonic() > until:
                    raise ValueError("it is larger or slower than any ledger")
                items += map(_item, rows)
    chain = {"since": owner[1], "events": head[0], "head": head[1]}
    last = items[-1]["time"] if items else owner[1]
    return {"format": export_format.FORMAT, "exported": last, "learner": {"id": owner[0], "name": None}, "chain": chain, "events": items}


def _item(row: tuple[Any, ...]) -> dict[str, Any]:
    fields = dict(zip(export_format.FIELDS, row, strict=False))
    more = json.loads(row[8]) if row[8] else {}
    return {**more, **fields, "payload": json.loads(row[6]), "hash": row[9]}


def driver() -> Any:
    try:
        import psycopg
        import psycopg.sql
    except ImportError:
        raise MissingExtra("a ledger in PostgreSQL needs psycopg: pip install 'ironlaw[postgres]'") from None
    return psycopg
