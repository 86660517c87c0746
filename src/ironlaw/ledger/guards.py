"""What the database itself holds against changes: triggers and unique indexes, as migration 0002 leaves them.

A ledger is compared with this when it is opened. A later migration that changes one adds its own table here; these stay, since
the migration of that number uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Read = Callable[[str], Iterable[Any]]  # SQL -> rows
REFUSE = "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
GUARDED = ("ironlaw_events", "ironlaw_learner", "ironlaw_head")

EVENTS = (
    "CREATE TABLE ironlaw_events (seq INTEGER NOT NULL PRIMARY KEY CHECK (seq > 0), id TEXT NOT NULL UNIQUE, learner TEXT NOT NULL,"
    " epoch INTEGER NOT NULL, lab TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL, question TEXT, payload TEXT NOT NULL,"
    " time TEXT NOT NULL, extra TEXT, prev TEXT NOT NULL, hash TEXT NOT NULL, CHECK (kind <> 'prediction' OR question IS NOT NULL))"
)
HEAD = "CREATE TABLE ironlaw_head (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), events INTEGER NOT NULL, hash TEXT NOT NULL)"
INDEXES = {
    "ironlaw_events_view": "CREATE INDEX ironlaw_events_view ON ironlaw_events (learner, epoch, lab)",
    "ironlaw_events_lock": "CREATE UNIQUE INDEX ironlaw_events_lock ON ironlaw_events (learner, epoch, lab, question, attempt)"
    " WHERE kind = 'prediction'",
    # of two events that follow the same one, one is refused: the chain never forks
    "ironlaw_events_prev": "CREATE UNIQUE INDEX ironlaw_events_prev ON ironlaw_events (prev)",
}
SQLITE_TRIGGERS = {
    "ironlaw_events_no_update": f"CREATE TRIGGER ironlaw_events_no_update BEFORE UPDATE ON ironlaw_events {REFUSE}",
    "ironlaw_events_no_delete": f"CREATE TRIGGER ironlaw_events_no_delete BEFORE DELETE ON ironlaw_events {REFUSE}",
    # INSERT OR REPLACE deletes the row in its way without asking the trigger above. This one stands before that.
    "ironlaw_events_no_replace": "CREATE TRIGGER ironlaw_events_no_replace BEFORE INSERT ON ironlaw_events WHEN EXISTS ("
    "SELECT 1 FROM ironlaw_events WHERE seq = NEW.seq OR id = NEW.id OR prev = NEW.prev)"
    " OR NEW.kind = 'prediction' AND EXISTS (SELECT 1 FROM ironlaw_events WHERE kind = 'prediction' AND learner = NEW.learner"
    f" AND epoch = NEW.epoch AND lab = NEW.lab AND question = NEW.question AND attempt = NEW.attempt) {REFUSE}",
    "ironlaw_learner_no_update": f"CREATE TRIGGER ironlaw_learner_no_update BEFORE UPDATE ON ironlaw_learner {REFUSE}",
    "ironlaw_learner_no_delete": f"CREATE TRIGGER ironlaw_learner_no_delete BEFORE DELETE ON ironlaw_learner {REFUSE}",
    "ironlaw_learner_no_replace": "CREATE TRIGGER ironlaw_learner_no_replace BEFORE INSERT ON ironlaw_learner"
    f" WHEN EXISTS (SELECT 1 FROM ironlaw_learner) {REFUSE}",
    "ironlaw_head_no_update": "CREATE TRIGGER ironlaw_head_no_update BEFORE UPDATE ON ironlaw_head"
    f" WHEN NEW.one <> 1 OR NEW.events <= OLD.events {REFUSE}",
    "ironlaw_head_no_delete": f"CREATE TRIGGER ironlaw_head_no_delete BEFORE DELETE ON ironlaw_head {REFUSE}",
    "ironlaw_head_no_replace": "CREATE TRIGGER ironlaw_head_no_replace BEFORE INSERT ON ironlaw_head"
    f" WHEN EXISTS (SELECT 1 FROM ironlaw_head) {REFUSE}",
}

# PostgreSQL: name -> (table, when, function). Once per statement, so that TRUNCATE is met too; always on, so that a replica's session
# meets them as well.
ANY_CHANGE = "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT"
POSTGRES_TRIGGERS = {
    "ironlaw_events_append_only": ("ironlaw_events", ANY_CHANGE, "ironlaw_append_only"),
    "ironlaw_learner_append_only": ("ironlaw_learner", ANY_CHANGE, "ironlaw_append_only"),
    "ironlaw_head_no_delete": ("ironlaw_head", "BEFORE DELETE OR TRUNCATE ON {} FOR EACH STATEMENT", "ironlaw_append_only"),
    "ironlaw_head_no_update": ("ironlaw_head", "BEFORE UPDATE ON {} FOR EACH ROW", "ironlaw_head_forward"),
}
FAIL = "RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'restrict_violation';"
FUNCTIONS = {
    "ironlaw_append_only": f" BEGIN {FAIL} END ",
    "ironlaw_head_forward": f" BEGIN IF NEW.one <> 1 OR NEW.events <= OLD.events THEN {FAIL} END IF; RETURN NEW; END ",
}
_BITS = {"ROW": 1, "BEFORE": 2, "INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}  # of pg_trigger.tgtype


def missing(read: Read, sqlite: bool) -> list[str]:
    """What is missing, disabled or altered, in words."""
    return _missing_sqlite(read) if sqlite else _missing_postgres(read)


def restore(execute: Callable[[str], Any], read: Read, sqlite: bool) -> None:
    """Put everything back as it should be."""
    if sqlite:
        for name in {row[0] for row in read("SELECT name FROM sqlite_master WHERE type = 'trigger'")}:
            execute(f'DROP TRIGGER "{name}"')
        present = {row[0] for row in read("SELECT name FROM sqlite_master WHERE type = 'index'")}
        for statement in [*(sql for name, sql in INDEXES.items() if name not in present), *SQLITE_TRIGGERS.values()]:
            execute(statement)
        return
    for sql in INDEXES.values():
        execute(sql.replace("INDEX ", "INDEX IF NOT EXISTS ", 1))
    for name in FUNCTIONS:
        execute(function(name))
    for name in POSTGRES_TRIGGERS:
        for statement in trigger(name):
            execute(statement)


def function(name: str) -> str:
    return f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $${FUNCTIONS[name]}$$"


def trigger(name: str) -> list[str]:
    table, when, called = POSTGRES_TRIGGERS[name]
    return [
        f"DROP TRIGGER IF EXISTS {name} ON {table}",
        f"CREATE TRIGGER {name} {when.format(table)} EXECUTE FUNCTION {called}()",
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}",
    ]


def _missing_sqlite(read: Read) -> list[str]:
    tables = {"ironlaw_events": EVENTS, "ironlaw_head": HEAD}
    wanted = tables | INDEXES | SQLITE_TRIGGERS
    present = {str(row[0]): str(row[1]) for row in read("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")}
    triggers = {str(row[0]) for row in read("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    gone = [f"{name} is missing" for name in (*wanted, "ironlaw_learner") if name not in present]
    altered = [f"{name} was altered" for name, sql in wanted.items() if name in present and present[name] != sql]
    return gone + altered + [f"{name} does not belong there" for name in sorted(triggers - set(SQLITE_TRIGGERS))]


def _missing_postgres(read: Read) -> list[str]:
    tables = ", ".join(f"to_regclass('{table}')" for table in GUARDED)
    present = {
        row[0]: tuple(row[1:])
        for row in read(
            "SELECT t.tgname, c.relname, t.tgtype, p.proname, p.prosrc, t.tgenabled, t.tgqual IS NULL FROM pg_trigger t"
            " JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid"
            f" WHERE NOT t.tgisinternal AND t.tgrelid IN ({tables})"
        )
    }
    problems = [f"{table} is missing" for table in GUARDED if next(iter(read(f"SELECT to_regclass('{table}')")))[0] is None]
    for name, (table, when, called) in POSTGRES_TRIGGERS.items():
        bits = sum(bit for word, bit in _BITS.items() if word in when.split())
        if name not in present:
            problems.append(f"the trigger {name} is missing")
        elif present[name] != (table, bits, called, FUNCTIONS[called], "A", True):
            problems.append(f"the trigger {name} was {'altered' if present[name][4] == 'A' else 'disabled'}")
    problems += [f"the trigger {name} does not belong there" for name in sorted(set(present) - set(POSTGRES_TRIGGERS))]
    valid = {
        row[0]
        for row in read(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indisvalid AND i.indrelid = to_regclass('ironlaw_events')"
        )
    }
    return problems + [f"the index {name} is missing" for name in INDEXES if name not in valid]
