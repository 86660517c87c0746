"""Each event carries the hash of the one before it; the head says how many there are and where the chain ends."""

from typing import Any

from alembic import op
from sqlalchemy import text

from ironlaw.ledger import guards
from ironlaw.ledger.chain import CONTENT, genesis, link

revision = "0002"
down_revision = "0001"

OLD = "seq, id, learner, epoch, lab, attempt, kind, question, payload, time"
SET = text("UPDATE ironlaw_events SET prev = :prev, hash = :hash WHERE seq = :seq")
PUT = text(
    "INSERT INTO ironlaw_events (seq, id, learner, epoch, lab, attempt, kind, question, payload, time, prev, hash)"
    " VALUES (:seq, :id, :learner, :epoch, :lab, :attempt, :kind, :question, :payload, :time, :prev, :hash)"
)


def upgrade() -> None:
    rows, head = _chained()
    if op.get_bind().dialect.name == "sqlite":
        _sqlite(rows)
    else:
        _postgresql(rows)
    if head:
        op.get_bind().execute(text("INSERT INTO ironlaw_head VALUES (1, :events, :hash)"), {"events": len(rows), "hash": head})


def _chained() -> tuple[list[dict[str, Any]], str]:
    """Every event with its place in the chain, and the chain's end; empty where the ledger has no owner yet."""
    connection = op.get_bind()
    owner = connection.execute(text("SELECT id, since FROM ironlaw_learner")).first()
    if owner is None:
        return [], ""
    rows, prev = [], genesis(*owner)
    for row in connection.execute(text(f"SELECT {OLD} FROM ironlaw_events ORDER BY seq")).mappings():
        digest = link(prev, [row.get(name) for name in CONTENT])
        rows.append({**row, "prev": prev, "hash": digest})
        prev = digest
    return rows, prev


def _sqlite(rows: list[dict[str, Any]]) -> None:
    """A new table: SQLite can't add a column that must not be empty."""
    connection = op.get_bind()
    for name in [row[0] for row in connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))]:
        op.execute(f"DROP TRIGGER {name}")
    for name in ("ironlaw_events_view", "ironlaw_events_lock"):
        op.execute(f"DROP INDEX {name}")
    op.execute("ALTER TABLE ironlaw_events RENAME TO ironlaw_events_0001")
    op.execute(guards.EVENTS)
    if rows:
        connection.execute(PUT, rows)
    op.execute("DROP TABLE ironlaw_events_0001")
    for statement in (guards.HEAD, *guards.INDEXES.values(), *guards.SQLITE_TRIGGERS.values()):
        op.execute(statement)


def _postgresql(rows: list[dict[str, Any]]) -> None:
    op.execute("ALTER TABLE ironlaw_events ADD COLUMN extra TEXT, ADD COLUMN prev TEXT, ADD COLUMN hash TEXT")
    op.execute("DROP TRIGGER ironlaw_events_append_only ON ironlaw_events")
    if rows:
        op.get_bind().execute(SET, [{"seq": row["seq"], "prev": row["prev"], "hash": row["hash"]} for row in rows])
    op.execute("ALTER TABLE ironlaw_events ALTER COLUMN prev SET NOT NULL, ALTER COLUMN hash SET NOT NULL")
    op.execute(guards.HEAD)
    op.execute(guards.INDEXES["ironlaw_events_prev"])
    for name in guards.FUNCTIONS:
        op.execute(guards.function(name))
    for name in guards.POSTGRES_TRIGGERS:
        for statement in guards.trigger(name):
            op.execute(statement)
