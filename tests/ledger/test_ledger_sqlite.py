"""What every ledger promises, in SQLite."""

import itertools

import pytest

pytest.register_assert_rewrite("ledger_contract")
from ledger_contract import *  # noqa: E402, F403


@pytest.fixture
def place(tmp_path):
    numbers = itertools.count(1)
    return lambda: str(tmp_path / f"ledger {next(numbers)} é%20?#.db")
