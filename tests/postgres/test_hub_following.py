"""`ironlaw class live` over PostgreSQL: each schema is read by its own role; what a learner puts there spoils nothing."""

import psycopg
import pytest

from ironlaw.classroom.hub_following import AGAIN_S, Hub
from ironlaw.errors import BadValue, LedgerUnavailable
from ironlaw.ledger import open_ledger
from ironlaw.ledger.hub_ledger import ledger_of, schema_of

KEY = "k" * 40
USERS = ("ada", "Bob Ö.", "mallory")


def answer(ledger, correct=False):
    ledger.commit_prediction("lab_01_magnitude", "act1", "e2", 1e2, 4, correct, 1)


@pytest.fixture
def addresses(postgres_url):
    yield {user: ledger_of(postgres_url, user, KEY) for user in USERS}
    with psycopg.connect(postgres_url) as connection:
        for name in map(schema_of, USERS):
            connection.execute(f'DROP SCHEMA "{name}" CASCADE')
            connection.execute(f'DROP OWNED BY "{name}"')
            connection.execute(f'DROP ROLE "{name}"')


def test_a_class_on_a_hub(postgres_url, addresses):
    ledgers = {user: open_ledger(addresses[user]) for user in USERS[:2]}
    now = [0.0]
    hub = Hub(postgres_url, KEY, 600.0, clock=lambda: now[0])
    answer(ledgers["ada"])
    hub.look()
    now[0] += AGAIN_S  # what a server counts may be late
    hub.look()
    hand_ins = hub.hand_ins()
    assert {one.name for one in hand_ins.ledgers} == {"ada", "Bob Ö."} and [one.file for one in hand_ins.refused] == ["mallory"]
    answer(ledgers["Bob Ö."], correct=True)
    now[0] += AGAIN_S
    assert hub.look()
    given = {one.name: [a.correct for a in one.work.answers.values()] for one in hub.hand_ins().ledgers}
    assert given == {"ada": [False], "Bob Ö.": [True]}
    now[0] += AGAIN_S
    assert not hub.look()

    # mallory's table is a view that asks for the administrator's rights, waits, and carries ada's id
    with psycopg.connect(addresses["mallory"]) as connection:
        for statement in (
            "CREATE TABLE ironlaw_learner (id text, since text)", "CREATE TABLE ironlaw_head (events int, hash text)",
            "CREATE TABLE took (who text)",
            "INSERT INTO ironlaw_learner VALUES ('x', 'y')", "INSERT INTO ironlaw_head VALUES (1, 'z')",
            "CREATE FUNCTION evil() RETURNS text LANGUAGE plpgsql AS"
            " $$BEGIN INSERT INTO took VALUES (session_user); RETURN session_user; END$$",
            "CREATE VIEW ironlaw_events AS SELECT 1 AS seq, evil() AS id, 'l' AS learner, 1 AS epoch, '' AS lab, 1 AS attempt,"
            " 'named' AS kind, '{}'::text AS payload, 't' AS time, NULL::text AS extra, 'h' AS hash",
            "GRANT ALL ON ALL TABLES IN SCHEMA ironlaw_mallory TO PUBLIC", "GRANT USAGE ON SCHEMA ironlaw_mallory TO PUBLIC",
        ):  # fmt: skip
            connection.execute(statement)
    now[0] += AGAIN_S
    hub.look()
    hand_ins = hub.hand_ins()
    assert {one.name for one in hand_ins.ledgers} == {"ada", "Bob Ö."} and [one.kind for one in hand_ins.refused] == ["unreadable"]
    with psycopg.connect(addresses["mallory"]) as connection:  # it ran as mallory, in a transaction that may not write
        assert connection.execute("SELECT count(*) FROM took").fetchone() == (0,)
    for ledger in ledgers.values():
        ledger.close()


def test_what_it_needs_is_said(postgres_url, tmp_path):
    with pytest.raises(BadValue, match="IRONLAW_LEDGER_KEY"):
        Hub(postgres_url, "", 600.0)
    with pytest.raises(BadValue, match="is not a database"):
        Hub(str(tmp_path / "x.db"), KEY, 600.0)
    with pytest.raises(LedgerUnavailable, match="does not answer"):
        Hub("postgresql://nobody@127.0.0.1:1/none", KEY, 600.0).look()
