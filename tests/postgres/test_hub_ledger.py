"""A ledger for each user of a hub: their own schema, by a role that reaches no other."""

import psycopg
import pytest

from ironlaw.errors import BadValue, LedgerUnavailable
from ironlaw.ledger import open_ledger
from ironlaw.ledger.hub_ledger import ledger_of, schema_of

KEY = "k" * 64
ODD = ['ben"; DROP SCHEMA public; --', "b" * 200 + "1", "b" * 200 + "2", "Ben", "ben", "bén@example.org"]


def commit(ledger):
    return ledger.commit_prediction("lab_01_magnitude", "act1", "e4", 1e4, 3, False, 1)


@pytest.fixture
def ledger_for(postgres_url: str):
    """`ledger_for(user)`; roles and schemas are dropped at the end."""
    users = set()

    def make(user: str) -> str:
        users.add(user)
        return ledger_of(postgres_url, user, KEY)

    yield make
    with psycopg.connect(postgres_url) as connection:
        for name in map(schema_of, users):
            connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
            connection.execute(f'DROP OWNED BY "{name}"')
            connection.execute(f'DROP ROLE "{name}"')


def test_each_has_a_ledger_of_their_own_and_finds_it_again(ledger_for):
    with open_ledger(ledger_for("ada")) as ada, open_ledger(ledger_for("ben")) as ben:
        event = commit(ada)
        assert ben.events() == []
    with open_ledger(ledger_for("ada")) as again:
        assert again.events() == [event]


def test_nobody_reaches_anothers_schema_not_even_by_hand(ledger_for):
    mine, theirs = ledger_for("ada"), ledger_for("ben")
    with open_ledger(theirs) as ben:
        commit(ben)
    with psycopg.connect(mine, autocommit=True) as connection:
        assert connection.execute("SELECT current_user, current_schema()").fetchone() == ("ironlaw_ada", "ironlaw_ada")
        for statement in (
            "SELECT * FROM ironlaw_ben.event",
            "CREATE TABLE ironlaw_ben.mine (one int)",
            "SET ROLE ironlaw_ben",
            "DROP SCHEMA ironlaw_ben CASCADE",
            "CREATE ROLE more",
        ):
            with pytest.raises(psycopg.Error, match=r"permission|owner"):
                connection.execute(statement)


def test_names_of_any_form_are_told_apart_and_run_nothing(ledger_for, postgres_url: str):
    places = {user: ledger_for(user) for user in ODD}
    assert len({schema_of(user) for user in ODD}) == len(ODD)
    assert all(len(schema_of(user).encode()) <= 63 for user in ODD)
    for place in places.values():
        with psycopg.connect(place) as connection:
            name, schema = connection.execute("SELECT current_user, current_schema()").fetchone()
            assert name == schema
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'public'").fetchone()


def test_what_would_give_no_ledger_says_so(postgres_url: str, tmp_path):
    for admin, user, key in ((postgres_url, "", KEY), (postgres_url, "ada", "short"), (str(tmp_path / "a.db"), "ada", KEY)):
        with pytest.raises(BadValue):
            ledger_of(admin, user, key)
    with pytest.raises(LedgerUnavailable, match="check that the server is running") as told:
        ledger_of(f"postgresql://root:hidden@/lab?host={tmp_path}", "ada", KEY)
    assert "hidden" not in str(told.value)
