"""The database tests run against the server named in IRONLAW_TEST_POSTGRES; `make test` starts a private one."""

import os
from uuid import uuid4

import psycopg
import pytest


@pytest.fixture(scope="session")
def postgres_url() -> str:
    url = os.environ.get("IRONLAW_TEST_POSTGRES")
    if not url:
        raise RuntimeError("no PostgreSQL: run `make test`, or export IRONLAW_TEST_POSTGRES=postgresql://USER@HOST/DATABASE")
    return url


@pytest.fixture
def place(postgres_url: str):
    """Addresses of ledgers that do not exist yet, each in a schema of its own."""
    made = []

    def make():
        made.append(f"ledger_{uuid4().hex}")
        with psycopg.connect(postgres_url) as connection:
            connection.execute(f"CREATE SCHEMA {made[-1]}")
        return f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3D{made[-1]}"

    yield make
    with psycopg.connect(postgres_url) as connection:
        for name in made:
            connection.execute(f"DROP SCHEMA {name} CASCADE")
        rows = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ironlaw_broken_%'").fetchall()
        for (name,) in rows:
            connection.execute(f"DROP SCHEMA {name} CASCADE")
