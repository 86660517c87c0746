"""The events, the learner, and the guards that let nothing be changed or removed."""

from alembic import op
from sqlalchemy import CheckConstraint, Column, Integer, Text, text

revision = "0001"
down_revision = None

GUARDED = ("ironlaw_events", "ironlaw_learner")


def upgrade() -> None:
    op.create_table(
        "ironlaw_events",
        Column("seq", Integer, primary_key=True, autoincrement=True),
        Column("id", Text, nullable=False, unique=True),
        Column("learner", Text, nullable=False),
        Column("epoch", Integer, nullable=False),
        Column("lab", Text, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("kind", Text, nullable=False),
        Column("question", Text),
        Column("payload", Text, nullable=False),
        Column("time", Text, nullable=False),
        CheckConstraint("seq > 0", name="ironlaw_events_seq"),
        CheckConstraint("kind <> 'prediction' OR question IS NOT NULL", name="ironlaw_events_question"),
    )
    op.create_index("ironlaw_events_view", "ironlaw_events", ["learner", "epoch", "lab"])
    op.create_index(
        "ironlaw_events_lock",
        "ironlaw_events",
        ["learner", "epoch", "lab", "question", "attempt"],
        unique=True,
        sqlite_where=text("kind = 'prediction'"),
        postgresql_where=text("kind = 'prediction'"),
    )
    op.create_table(
        "ironlaw_learner",
        Column("one", Integer, CheckConstraint("one = 1"), primary_key=True, autoincrement=False),
        Column("id", Text, nullable=False),
        Column("since", Text, nullable=False),
    )
    (_sqlite if op.get_bind().dialect.name == "sqlite" else _postgresql)()


def _sqlite() -> None:
    for table in GUARDED:
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table}"
                " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
    # INSERT OR REPLACE deletes the row in its way without asking the trigger above. This one stands before that.
    op.execute(
        "CREATE TRIGGER ironlaw_events_no_replace BEFORE INSERT ON ironlaw_events WHEN EXISTS ("
        "SELECT 1 FROM ironlaw_events WHERE seq = NEW.seq OR id = NEW.id)"
        " OR NEW.kind = 'prediction' AND EXISTS (SELECT 1 FROM ironlaw_events WHERE kind = 'prediction' AND learner = NEW.learner"
        " AND epoch = NEW.epoch AND lab = NEW.lab AND question = NEW.question AND attempt = NEW.attempt)"
        " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )
    op.execute(
        "CREATE TRIGGER ironlaw_learner_no_replace BEFORE INSERT ON ironlaw_learner WHEN EXISTS (SELECT 1 FROM ironlaw_learner)"
        " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )


def _postgresql() -> None:
    op.execute(
        "CREATE FUNCTION ironlaw_append_only() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'restrict_violation'; END $$"
    )
    for table in GUARDED:
        # once per statement, so that TRUNCATE is met too; ALWAYS, so that a replica's session meets it as well
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION ironlaw_append_only()"
        )
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_append_only")
