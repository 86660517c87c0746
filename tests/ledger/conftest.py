"""Here a ledger is as its users have it: a commit is on disk before it is acknowledged."""

import pytest
from quick_commits import durable

from ironlaw.ledger import database


@pytest.fixture(autouse=True)
def commits_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_sqlite", durable)
