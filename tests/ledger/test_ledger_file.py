"""Where a ledger is stored, and files that are not valid: refused, explained, and left unchanged."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ironlaw.errors import BadValue, LedgerDamaged, LedgerUnavailable
from ironlaw.ledger import open_ledger, repair, rescue, verify, where

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def filled(path):
    """A ledger of some pages, closed."""
    with open_ledger(path) as ledger:
        ledger.import_(
            {
                **(told := ledger.export()),
                "format": "ironlaw-ledger/1",
                "events": [event(told["learner"]["id"], number, {"x": "y" * 900}) for number in range(100)],
            }
        )
    return path


def event(learner, number, payload):
    made = f"00000000-0000-4000-8000-{number:012}"
    stamp = f"2026-01-01T00:00:00.{number:06}Z"
    return dict(id=made, learner=learner, epoch=1, lab="lab", attempt=1, kind="design", payload=payload, time=stamp)


# --- places ---


def test_without_a_word_it_lies_in_the_home(ironlaw_home, monkeypatch):
    monkeypatch.delenv("IRONLAW_LEDGER", raising=False)
    assert where() == str(ironlaw_home / "ledger.db")
    assert not (ironlaw_home / "ledger.db").exists()
    with open_ledger() as ledger:
        assert ledger.where() == where()
    assert (ironlaw_home / "ledger.db").exists()


def test_the_home_is_created(tmp_path, monkeypatch):
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "new" / "home"))
    open_ledger().close()
    assert (tmp_path / "new" / "home" / "ledger.db").exists()


def test_a_variable_names_another_place(path, monkeypatch):
    for text in (str(path), f"sqlite:///{path}", f" {path} "):
        monkeypatch.setenv("IRONLAW_LEDGER", text)
        with open_ledger() as ledger:
            assert ledger.where() == where() == str(path)
    monkeypatch.setenv("HOME", str(path.parent))
    assert where("~/x.db") == str(path.parent / "x.db")
    monkeypatch.chdir(path.parent)
    assert where("x.db") == where("sqlite:///x.db") == str(path.parent / "x.db")


def test_a_password_is_never_shown():
    assert where("postgresql://ada:secret@db.example:5433/lab") == "PostgreSQL, db.example:5433, database lab"


def test_a_home_that_nobody_has(monkeypatch):
    monkeypatch.setenv("IRONLAW_LEDGER", "~nosuchuser/x.db")
    for act in (where, open_ledger):
        with pytest.raises(BadValue, match=r"cannot expand '~nosuchuser/x.db'.*give a file's path"):
            act()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "postgresql://u:secret@h:port/x"])
def test_what_is_no_place_is_refused(url):
    with pytest.raises(BadValue, match=r"give a file's path, sqlite:////absolute/path.db, or postgresql://") as told:
        open_ledger(url)
    assert "secret" not in str(told.value)


def test_a_missing_folder_is_not_created(tmp_path):
    with pytest.raises(LedgerUnavailable, match=r"does not exist; create it, or connect its disk"):
        open_ledger(tmp_path / "usb stick" / "ledger.db")
    assert list(tmp_path.iterdir()) == []


# --- the file ---


def test_a_new_file_is_whole_private_and_alone(path):
    os.umask(os.umask(0))
    with open_ledger(path) as ledger, ledger.store.database.reading() as connection:
        settings = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous", "foreign_keys")}
        assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    assert [found.name for found in path.parent.iterdir()] == ["ledger.db"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_system_without_hard_links(path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    with open_ledger(path) as ledger:
        ledger.append("lab", "opened", {})
    assert [found.name for found in path.parent.iterdir()] == ["ledger.db"]
    path.unlink()
    monkeypatch.delattr(os, "link")  # some systems have none at all
    with open_ledger(path) as ledger:
        ledger.append("lab", "opened", {})
    assert [found.name for found in path.parent.iterdir()] == ["ledger.db"]


def test_what_a_killed_process_left_is_cleared_away(path):
    left = [path.with_name(f".ledger.db.{n}.{ending}") for n in range(3) for ending in ("new", "new-wal", "part")]
    others = [path.with_name(name) for name in (".other.db.1.new", "ledger.db.new", ".ledger.db.now.new")]
    for found in (*left, *others):
        found.touch()
        os.utime(found, (1, 1))
    others[2].touch()  # someone is at it now
    with open_ledger(path) as ledger:
        ledger.append("lab", "opened", {})
    assert sorted(found.name for found in path.parent.iterdir()) == sorted(["ledger.db", *(found.name for found in others)])


def refused(path, words):
    """Opening raises, twice alike, and touches neither the file nor what lies beside it."""

    def seen():
        return {found.name: found.read_bytes() for found in path.parent.iterdir() if found.is_file() and not found.name.endswith("-shm")}

    before = seen()
    for _ in range(2):
        with pytest.raises(LedgerDamaged, match=words) as told:
            open_ledger(path)
        assert "left unchanged" in str(told.value)
    after = seen()
    assert {name: after[name] for name in before} == before
    assert not any(content for name, content in after.items() if name not in before)
    return str(told.value)


def test_an_empty_file_is_not_taken_for_a_new_ledger(path):
    path.touch()
    assert "ironlaw ledger repair" in refused(path, "it is empty")


def test_text_is_no_ledger(path):
    path.write_text("Dear diary, " * 500)
    refused(path, "file is not a database")


def test_another_program_s_database_is_no_ledger(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url text)")
    connection.close()
    refused(path, "not an ironlaw ledger")


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(LedgerDamaged, match="not a file"):
        open_ledger(tmp_path)


def set_aside(path, least):
    """Opening works, says so, and keeps the broken file whole under another name; what is carried over is as it was written."""
    broken, written = path.read_bytes(), {f"00000000-0000-4000-8000-{number:012}": number for number in range(100)}
    with open_ledger(path) as ledger:
        events = ledger.events()
        assert "Your ledger was damaged" in ledger.notice and "carried over" in ledger.notice
        last = ledger.append("lab", "opened", {})
    (kept,) = [found for found in path.parent.iterdir() if ".broken-" in found.name]
    assert kept.read_bytes() == broken and str(kept) in ledger.notice
    *carried, record = events
    assert (record.kind, record.payload["from"], record.payload["kept"]) == ("carried", kept.name, len(carried))
    assert least <= len(carried) and all(found.payload == {"x": "y" * 900} and found.id in written for found in carried)
    assert len(carried) + record.payload["lost"] == 100
    with open_ledger(path) as again:
        assert again.notice == "" and again.events() == [*events, last] and again.learner == ledger.learner
    assert verify(path).events == len(events) + 1
    return record.payload["reason"]


@pytest.mark.parametrize(("keep", "least"), [(50, None), (100, None), (4096, None), (20_000, None), (-1, 99)])
def test_a_file_cut_short(filled, keep, least):
    filled.write_bytes(filled.read_bytes()[:keep])
    refused(filled, "is damaged") if least is None else set_aside(filled, least)


@pytest.mark.parametrize(("start", "length", "least"), [(0, 16, None), (16, 60, None), (100, 200, None), (4096 * 12, 4096, 90)])
def test_garbage_in_the_file(filled, start, length, least):
    content = bytearray(filled.read_bytes())
    content[start : start + length] = b"\xa5" * length
    filled.write_bytes(content)
    refused(filled, "is damaged") if least is None else set_aside(filled, least)


def test_of_many_that_open_a_broken_ledger_one_sets_it_aside(filled):
    content = bytearray(filled.read_bytes())
    content[4096 * 12 : 4096 * 13] = b"\xa5" * 4096
    filled.write_bytes(content)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: open_ledger(filled), range(4)))
    assert sum("Your ledger was damaged" in ledger.notice for ledger in opened) == 1
    events = [ledger.append("lab", "opened", {}) for ledger in opened]
    assert all(ledger.events()[-4:] == events for ledger in opened)
    for ledger in opened:
        ledger.close()
    (kept,) = [found for found in filled.parent.iterdir() if ".broken-" in found.name]
    assert kept.read_bytes() == content and verify(filled).events > 90


def test_a_writer_that_had_it_open_notices_that_it_was_set_aside(filled):
    with open_ledger(filled) as first:
        first.append("lab", "opened", {})
        with closing(sqlite3.connect(filled)) as connection, connection:
            connection.execute("DROP TRIGGER ironlaw_events_no_delete")
            connection.execute("DELETE FROM ironlaw_events WHERE seq = 50")
        with open_ledger(filled) as second:
            assert len(second.history()) == 101 and "99 events" not in second.notice
            with pytest.raises(LedgerUnavailable, match="moved, deleted or replaced"):
                first.append("lab", "opened", {})
            second.append("lab", "opened", {})
    assert verify(filled).events == 102


def test_repair_begins_anew_even_where_nothing_can_be_read(filled):
    filled.write_bytes(b"\xa5" * 9000)
    refused(filled, "is damaged")
    told = repair(filled)
    (kept,) = [found for found in filled.parent.iterdir() if ".broken-" in found.name]
    assert "Nothing in your ledger could be read" in told and str(kept) in told and kept.read_bytes() == b"\xa5" * 9000
    with open_ledger(filled) as ledger:
        assert ledger.events() == []
    assert repair(filled) == ""


def test_a_version_that_is_empty(filled):
    connection = sqlite3.connect(filled)
    connection.execute("UPDATE ironlaw_version SET version_num = ''")
    connection.commit()
    connection.close()
    assert "ironlaw_version is empty" in set_aside(filled, 100)


def test_an_older_file_keeps_a_private_copy(path):
    """As version 0001 left it: no chain. Its copy is as private as itself, and its events are in a chain afterwards."""
    shutil.copy(Path(__file__).parent / "ledger_0001.db", path)
    with pytest.raises(BadValue, match="has no chain yet"):
        verify(path)
    with open_ledger(path) as ledger:
        assert [found.kind for found in ledger.events()] == ["named", "opened", "prediction", "design"]
        assert ledger.learner_name() == "Ada" and ledger.notice == ""
        ledger.append("lab", "opened", {})
    assert verify(path).events == 5
    copy = path.with_name("ledger.db.0001")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    connection = sqlite3.connect(copy)
    assert connection.execute("SELECT count(*) FROM ironlaw_events").fetchone() == (4,)
    connection.close()


def test_a_log_without_its_file(filled):
    filled.rename(filled.with_name("away"))
    filled.with_name("ledger.db-wal").write_bytes(b"x")
    refused(filled, r"the file is missing, but ledger\.db-wal is there")
    assert not filled.exists()


def test_a_payload_that_can_t_be_read(path):
    with open_ledger(path) as ledger:
        ledger.append("lab", "opened", {})
    connection = sqlite3.connect(path)
    for statement in ("DROP TRIGGER ironlaw_events_no_update", "UPDATE ironlaw_events SET payload = CAST(x'ff7b' AS TEXT)"):
        connection.execute(statement)
    connection.commit()
    connection.close()
    with open_ledger(path) as ledger:
        assert "Your ledger was damaged" in ledger.notice and "1 could not" in ledger.notice
        assert [found.kind for found in ledger.events()] == ["carried"]


def spoil(path, *pages, length=200):
    content = bytearray(path.read_bytes())
    for page in pages:
        content[4096 * page : 4096 * page + length] = b"\xa5" * length
    path.write_bytes(content)


def test_what_can_be_read_is_rescued(filled, tmp_path):
    with open_ledger(filled) as ledger:
        ledger.set_learner_name("Ada")
        before = {found.id: found for found in ledger.history()}
    spoil(filled, 12, 17, 30)
    with pytest.raises(LedgerDamaged, match=r"`ironlaw ledger repair`.*`ironlaw ledger export saved.json --rescue`"):
        verify(filled)
    content = filled.read_bytes()
    told, lost = rescue(filled)
    assert filled.read_bytes() == content
    assert told["learner"] == {"id": ledger.learner, "name": "Ada"}
    assert 80 <= len(told["events"]) < 101 and len(told["events"]) + lost == 101
    with open_ledger(tmp_path / "new.db") as new:
        assert new.import_(told) == len(told["events"])
        assert all(before[found.id] == found for found in new.history())


def test_a_turned_bit_in_the_schema_s_text_is_no_dead_end(filled):
    """`seq INTEGER` -> `seq ANTEGER`: the column is then no number, and the rows are read by their rowid."""
    content = filled.read_bytes()
    assert b"seq INTEGER" in content
    filled.write_bytes(content.replace(b"seq INTEGER", b"seq ANTEGER", 1))
    assert len(rescue(filled)[0]["events"]) > 80
    assert "carried over" in repair(filled)
    with open_ledger(filled) as ledger:
        assert len(ledger.events()) > 80


def test_what_can_t_be_read_at_all(filled):
    spoil(filled, 0, length=4096)
    with pytest.raises(LedgerDamaged, match=r"nothing in the ledger .* can be read .* import an older export"):
        rescue(filled)
    with pytest.raises(BadValue, match="there is no file"):
        rescue(filled.with_name("none.db"))
    assert not filled.with_name("none.db").exists()


# --- while it is open ---


def test_a_file_that_is_deleted_or_replaced_under_us(filled):
    with open_ledger(filled) as ledger:
        away = filled.rename(filled.with_name("away.db"))
        for act in (ledger.events, lambda: ledger.append("lab", "opened", {})):
            with pytest.raises(LedgerUnavailable, match="moved, deleted or replaced"):
                act()
        assert not filled.exists()
        shutil.copy(away, filled)
        with pytest.raises(LedgerUnavailable, match="moved, deleted or replaced"):
            ledger.append("lab", "opened", {})
        away.replace(filled)
        ledger.append("lab", "opened", {})
        assert len(ledger.events()) == 101


def test_another_program_that_keeps_the_lock(filled, monkeypatch):
    monkeypatch.setattr("ironlaw.ledger.file.PATIENCE", 0.05)
    with open_ledger(filled) as ledger:
        other = sqlite3.connect(filled, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert len(ledger.events()) == 100  # reading goes on
        with pytest.raises(LedgerUnavailable, match=r"another program kept the ledger .* locked"):
            ledger.append("lab", "opened", {})
        other.execute("ROLLBACK")
        other.close()
        ledger.append("lab", "opened", {})


FORK = """
import os, sys
sys.path.insert(0, sys.argv[2])
from ironlaw.ledger import open_ledger
ledger = open_ledger(sys.argv[1])
ledger.append("lab", "opened", {"who": "parent"})
child = os.fork()
for number in range(20):
    ledger.append("lab", "opened", {"who": "parent" if child else "child"})
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
ledger.append("lab", "opened", {"who": "parent"})
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_shares_no_connection(path):
    subprocess.run([sys.executable, "-c", FORK, str(path), str(SOURCE)], check=True)
    with open_ledger(path) as ledger:
        assert sorted(found.payload["who"] for found in ledger.events()) == ["child"] * 20 + ["parent"] * 22


LIGHT = """
import sys
sys.path.insert(0, sys.argv[2])
import ironlaw, ironlaw.cli
assert "sqlalchemy" not in sys.modules
from ironlaw.ledger import open_ledger
open_ledger(sys.argv[1]).append("lab", "opened", {})
assert not {"alembic", "psycopg", "sqlalchemy.orm.session", "sqlalchemy.dialects.postgresql"} & set(sys.modules)
"""


def test_alembic_is_imported_only_to_migrate(path):
    open_ledger(path).close()
    subprocess.run([sys.executable, "-c", LIGHT, str(path), str(SOURCE)], check=True)
