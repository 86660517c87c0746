"""Tampering, forks and kills in PostgreSQL: a change is noticed, a broken ledger set aside, and nothing acknowledged is lost.

`IRONLAW_ATTACK=full` gives the kills 60 seconds instead of 2, or of as long as a few take.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from ironlaw.errors import LedgerDamaged, LedgerError
from ironlaw.ledger import open_ledger, repair, verify

SOURCE = Path(__file__).parents[2] / "src"
SECONDS = 60 if os.environ.get("IRONLAW_ATTACK") == "full" else 2
LAB = "lab_01_magnitude"


@pytest.fixture
def url(place):
    """A ledger with ten events."""
    address = place()
    with open_ledger(address) as ledger:
        for number in range(10):
            ledger.append(LAB, "card", {"n": number})
    return address


def sql(url, *statements):
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement)


def schemas(url):
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ironlaw_broken_%'")]


OFF, ON = (f"ALTER TABLE ironlaw_events {act} TRIGGER ironlaw_events_append_only" for act in ("DISABLE", "ENABLE ALWAYS"))
TAMPERED = {
    "the last one removed": (["DELETE FROM ironlaw_events WHERE seq = 10"], 9, "the last 1 of 10 events are missing"),
    "one removed": (["DELETE FROM ironlaw_events WHERE seq = 4"], 9, "does not follow the one before it"),
    "all removed": (["DELETE FROM ironlaw_events"], 0, "the last 10 of 10 events are missing"),
    "one changed": (["UPDATE ironlaw_events SET payload = '{\"n\": 7}' WHERE seq = 4"], 9, "was changed after it was written"),
}


@pytest.mark.parametrize("put_back", [False, True], ids=["left off", "put back"])
@pytest.mark.parametrize("what", TAMPERED)
def test_changes_with_the_trigger_disabled_are_noticed_and_the_rest_is_kept(url, what, put_back):
    with open_ledger(url) as ledger:
        before = {event.id: event for event in ledger.history()}
    changes, left, words = TAMPERED[what]
    sql(url, OFF, *changes, *([ON] if put_back else []))
    with pytest.raises(LedgerDamaged, match=words):
        verify(url)
    with open_ledger(url) as ledger:
        assert "Your ledger was damaged" in ledger.notice and words in ledger.notice
        *carried, record = ledger.history()
        assert len(carried) == left and all(before[event.id] == event for event in carried)
        assert record.kind == "carried" and record.payload["lost"] == 10 - left and record.payload["from"] in ledger.notice
        ledger.append(LAB, "opened", {})
    assert verify(url).events == left + 2 and verify(url).guards == ()
    (kept,) = schemas(url)
    with psycopg.connect(url) as connection:
        assert connection.execute(f"SELECT count(*) FROM {kept}.ironlaw_events").fetchone()[0] >= left
    with pytest.raises(psycopg.errors.IntegrityError):
        sql(url, "DELETE FROM ironlaw_events")


@pytest.mark.parametrize(
    "change",
    [
        OFF, OFF.replace("DISABLE", "ENABLE"), "DROP TRIGGER ironlaw_events_append_only ON ironlaw_events",
        "DROP INDEX ironlaw_events_lock",
        "CREATE OR REPLACE FUNCTION ironlaw_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
    ],
)  # fmt: skip
def test_a_guard_that_is_missing_disabled_or_altered_is_noticed_and_put_back(url, change):
    sql(url, change)
    assert verify(url).guards
    assert "none was changed" in repair(url)
    assert verify(url).guards == () and repair(url) == "" and schemas(url) == []
    for statement in (
        "DELETE FROM ironlaw_events",
        "TRUNCATE ironlaw_head",
        "SET session_replication_role = replica; DELETE FROM ironlaw_events",
    ):
        with pytest.raises(psycopg.errors.IntegrityError):
            sql(url, statement)


def test_a_version_that_is_empty(url):
    sql(url, "UPDATE ironlaw_version SET version_num = ''")
    with open_ledger(url) as ledger:
        assert "Your ledger was damaged" in ledger.notice and len(ledger.history()) == 11


def test_a_fork_is_refused_by_the_database(url):
    """A writer that does not wait for the lock, or does not see what the one before it wrote."""
    columns = "id, learner, epoch, lab, attempt, kind, payload, time, prev, hash"
    with pytest.raises(psycopg.errors.UniqueViolation, match="ironlaw_events_prev"):
        sql(url, f"INSERT INTO ironlaw_events ({columns}) SELECT 'x', learner, epoch, lab, attempt, kind, payload, time, prev, 'y'"
            " FROM ironlaw_events WHERE seq = 10")  # fmt: skip
    serial = url + "%20-cdefault_transaction_isolation%3Drepeatable%5C%20read"
    with open_ledger(serial) as first, open_ledger(serial) as second:
        for number in range(5):
            first.append(LAB, "card", {"n": number})
            second.append(LAB, "card", {"n": number})
    assert verify(url).events == 20


WRITE = f"""
import os, sys
sys.path.insert(0, {str(SOURCE)!r})
from ironlaw.errors import LedgerError
from ironlaw.ledger import open_ledger
acks = os.open(sys.argv[2], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
ledger = None
while True:
    try:
        ledger = ledger or open_ledger(sys.argv[1])
        event = ledger.append("lab", "card", {{"text": "x" * 500}})
    except LedgerError:  # its backend was ended
        continue
    os.write(acks, (event.id + "\\n").encode())
"""


def test_kills_and_ended_backends_lose_nothing_and_fork_nothing(place, tmp_path):
    url, acks, chance = place(), tmp_path / "acks", random.Random(15)
    open_ledger(url).close()
    begin = lambda: subprocess.Popen([sys.executable, "-c", WRITE, url, str(acks)])  # noqa: E731
    writers, kills, ended = [begin(), begin()], 0, 0
    try:
        while not acks.exists() or acks.stat().st_size < 500:
            time.sleep(0.05)
        until = time.monotonic() + SECONDS
        while kills + ended < 6 or time.monotonic() < until:
            time.sleep(chance.uniform(0.05, 0.3))
            if chance.random() < 0.3:
                gone = writers.pop(chance.randrange(2))
                gone.send_signal(signal.SIGKILL)
                gone.wait()
                writers.append(begin())
                kills += 1
            else:
                with psycopg.connect(url) as connection:
                    rows = connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ironlaw' AND random() < 0.5"
                    ).fetchall()
                ended += len(rows)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    acknowledged = acks.read_text().split()
    with open_ledger(url) as ledger:
        held = {event.id for event in ledger.history()}
        assert ledger.notice == ""
    print(json.dumps({"kills": kills, "backends ended": ended, "acknowledged": len(acknowledged), "lost": len(set(acknowledged) - held)}))
    assert kills + ended > 3 and set(acknowledged) <= held
    assert verify(url).events == len(held)


def test_a_user_who_may_not_move_the_tables_is_told(url, postgres_url):
    """Only the owner of the tables can set them aside; for anyone else the damage is explained, and nothing is touched."""
    sql(url, OFF, "DELETE FROM ironlaw_events WHERE seq = 4", ON)
    schema = url.rpartition("%3D")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS ironlaw_guest")
        connection.execute("CREATE ROLE ironlaw_guest")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO ironlaw_guest")
        connection.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO ironlaw_guest")
    try:
        with pytest.raises(LedgerError, match=r"is damaged .*ironlaw ledger repair"):
            open_ledger(url + "%20-crole%3Dironlaw_guest")
        assert schemas(url) == []
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM ironlaw_guest")
            connection.execute(f"REVOKE ALL ON SCHEMA {schema} FROM ironlaw_guest")
            connection.execute("DROP ROLE ironlaw_guest")
