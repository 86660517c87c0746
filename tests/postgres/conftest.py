"""The database tests run against the server named in IRONLAW_TEST_POSTGRES; `make test` starts a private one."""

import os

import pytest


@pytest.fixture(scope="session")
def postgres_url() -> str:
    url = os.environ.get("IRONLAW_TEST_POSTGRES")
    if not url:
        raise RuntimeError("no PostgreSQL: run `make test`, or export IRONLAW_TEST_POSTGRES=postgresql://USER@HOST/DATABASE")
    return url
