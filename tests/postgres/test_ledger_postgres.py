"""What every ledger promises, in PostgreSQL: each in a schema of its own."""

import sys
from pathlib import Path

import pytest

from ironlaw.errors import LedgerUnavailable
from ironlaw.ledger import open_ledger

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))
pytest.register_assert_rewrite("ledger_contract")
from ledger_contract import *  # noqa: E402, F403
from ledger_contract import LAB, commit, raw  # noqa: E402


def test_other_tables_in_the_database_are_no_hindrance(url):
    raw(url, "CREATE TABLE alembic_version (version_num text)")
    with open_ledger(url) as ledger:
        commit(ledger)
        assert "PostgreSQL" in ledger.where() and "options" not in ledger.where()


def test_a_server_that_is_not_there(tmp_path):
    with pytest.raises(LedgerUnavailable, match="check that the server is running") as told:
        open_ledger(f"postgresql://ada:secret@/lab?host={tmp_path}")
    assert "secret" not in str(told.value)


def test_a_connection_that_was_cut_is_made_again(ledger, url):
    event = commit(ledger)
    raw(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ironlaw'")
    assert ledger.events() == [event]
    assert commit(ledger, "act2") == ledger.events()[1]


def test_a_user_who_may_only_read(ledger, url):
    commit(ledger)
    ledger.close()
    read_only = url + "%20-cdefault_transaction_read_only%3Don"
    with pytest.raises(LedgerUnavailable, match="no permission to write"), open_ledger(read_only) as reader:
        assert len(reader.events(LAB)) == 1
        commit(reader, "act2")
    with open_ledger(url) as again:
        assert len(again.events()) == 1


def test_a_commit_waits_for_the_disk(url):
    with open_ledger(url + "%20-csynchronous_commit%3Doff") as ledger, ledger.store.database.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
