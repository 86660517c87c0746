"""The server that `make test` starts is a real one: it keeps what is committed and forgets what is rolled back."""

from uuid import uuid4

import psycopg
import pytest
from psycopg import sql


@pytest.fixture
def table(postgres_url: str):
    name = sql.Identifier(f"round_trip_{uuid4().hex}")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} (word text PRIMARY KEY)").format(name))
        yield name
        connection.execute(sql.SQL("DROP TABLE {}").format(name))


def words(url: str, table: sql.Identifier) -> list[str]:
    with psycopg.connect(url) as connection:
        return [word for (word,) in connection.execute(sql.SQL("SELECT word FROM {}").format(table))]


def test_commit_is_seen_by_another_connection(postgres_url: str, table: sql.Identifier):
    with psycopg.connect(postgres_url) as connection:
        connection.execute(sql.SQL("INSERT INTO {} VALUES ('größer')").format(table))
        assert words(postgres_url, table) == []
    assert words(postgres_url, table) == ["größer"]


def test_rollback_leaves_nothing(postgres_url: str, table: sql.Identifier):
    insert = sql.SQL("INSERT INTO {} VALUES ('twice')").format(table)
    with pytest.raises(psycopg.errors.UniqueViolation), psycopg.connect(postgres_url) as connection:
        connection.execute(insert)
        connection.execute(insert)
    assert words(postgres_url, table) == []
