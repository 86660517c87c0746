"""SQLite's log beside the ledger's file: short, never needed by a copy, and noticed when it is not as it was written."""

import random
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing

import pytest
from how_thorough import RELEASE

from ironlaw.errors import LedgerDamaged
from ironlaw.ledger import log, open_ledger, repair, rescue, verify

EVENTS = 40


def write(ledger, count=EVENTS):
    return [ledger.append("review", "written", {"prompt": "surprise", "text": f"größer {n} " * 20}).id for n in range(count)]


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """(folder, ids): a ledger whose events are all in its log, as earlier versions left every one."""
    path = tmp_path_factory.mktemp("open") / "ledger.db"
    folder = tmp_path_factory.mktemp("logged")
    with open_ledger(path) as ledger:
        with ledger.store.database.engine.connect() as connection:  # the only one, which all writes then use
            connection.exec_driver_sql("PRAGMA wal_autocheckpoint = 0")
        ids = write(ledger)
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(path.with_name(name), folder / name)
    return folder, ids


@pytest.fixture
def path(logged, tmp_path):
    shutil.copytree(logged[0], tmp_path / "home")
    return tmp_path / "home" / "ledger.db"


def turn(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(bytes(data))


def test_a_copy_of_the_file_alone_holds_every_event(tmp_path):
    """While the ledger is in use, and while another connection reads."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger, open_ledger(path) as other:
        ids = write(ledger, 5)
        assert [event.id for event in other.events()] == ids
        ids += write(ledger, 5)
        shutil.copy(path, tmp_path / "copy.db")
        assert log.path_of(path).stat().st_size < 20 * 4096  # one commit's pages, not the whole history
    with open_ledger(tmp_path / "copy.db") as copy:
        assert [event.id for event in copy.events()] == ids


def test_what_a_killed_process_left_in_its_log_is_read(tmp_path):
    path = tmp_path / "ledger.db"
    code = f"""
import os
from ironlaw.ledger import open_ledger
ledger = open_ledger({str(path)!r})
for number in range(5):
    ledger.append("lab", "opened", {{}})
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert log.path_of(path).stat().st_size and log.fault(path) == ""
    assert verify(path).events == 5
    log.path_of(path).unlink()  # a backup that took the file alone
    assert verify(path).events == 5


def test_the_checksums_are_sqlite_s_own(path):
    assert log.fault(path) == "" and all(page.whole for page in log.pages(path))
    assert verify(path).events == EVENTS
    assert len(log.pages(path)) > EVENTS


def test_every_turned_bit_of_a_log_is_noticed_and_the_events_are_carried_over(path, logged):
    """SQLite alone would show an older ledger, whose chain fits, and say nothing."""
    whole, chance = log.path_of(path).read_bytes(), random.Random(45)
    file = path.read_bytes()
    silent, carried = [], []
    bits = 60 if RELEASE else 16
    for bit in sorted(chance.sample(range(8 * len(whole)), bits)):
        path.write_bytes(file)
        log.path_of(path).write_bytes(whole)
        turn(log.path_of(path), bit)
        path.with_name("ledger.db-shm").unlink(missing_ok=True)
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            if connection.execute("SELECT count(*) FROM ironlaw_events").fetchone()[0] == EVENTS:
                continue  # in the last commit's unused bytes, say: nothing is lost
        path.with_name("ledger.db-shm").unlink(missing_ok=True)
        try:
            verify(path)
            silent.append(bit)
        except LedgerDamaged as error:
            assert "log" in str(error)
        carried.append(len(rescue(path)[0]["events"]))
    last = 8 * (len(whole) - 6 * 4120)  # a bad page without a commit behind it can't be told from a write that was cut off
    assert [bit for bit in silent if bit < last] == []
    assert len(carried) > 2 * bits / 3 and sum(carried) / len(carried) > 0.9 * EVENTS


def test_opening_sets_a_ledger_with_a_damaged_log_aside_whole(path, logged):
    turn(log.path_of(path), 8 * (log.path_of(path).stat().st_size // 2))
    broken = log.path_of(path).read_bytes()
    with open_ledger(path) as ledger:
        assert "ledger.db-wal" in ledger.notice and "carried over" in ledger.notice
        kept = [event.id for event in ledger.events() if event.kind == "written"]
    assert len(kept) >= EVENTS - 1 and set(kept) <= set(logged[1])
    (aside,) = path.parent.glob("*.broken-*-wal")
    assert aside.read_bytes() == broken
    assert verify(path).events == len(kept) + 1 and repair(path) == ""


def test_a_write_that_was_cut_off_is_no_damage(path):
    """Killed while it wrote a commit: half of its pages are there, and nobody was told that they were written."""
    written = log.path_of(path)
    data = written.read_bytes()
    commits = [start for start in range(log.HEADER, len(data), 4120) if struct.unpack(">I", data[start + 4 : start + 8])[0]]
    written.write_bytes(data[: commits[-1] + 1000])
    assert log.fault(path) == "" and verify(path).events == EVENTS - 1


def test_a_log_that_changes_while_it_is_read_is_its_writer_s_affair(path, monkeypatch):
    turn(log.path_of(path), 8 * 5000)
    monkeypatch.setattr(log.time, "sleep", lambda _: log.path_of(path).write_bytes(log.path_of(path).read_bytes() + b"x"))
    assert log.fault(path) == ""
