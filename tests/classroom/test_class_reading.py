"""Who reads a class: several processes at once, the page that follows a folder or a hub, and what is refused before a page opens."""

import gc
from concurrent.futures.process import BrokenProcessPool

import pytest
from made_class import export, hand_in, plan

from ironlaw.classroom import hub_following, reading
from ironlaw.classroom.following import Folder
from ironlaw.classroom.hand_in_file import HandIn, Refusal
from ironlaw.classroom.hub_following import Hub
from ironlaw.cli import main
from ironlaw.errors import BadValue, LedgerUnavailable
from ironlaw.server import class_server

KEY = "k" * 40
DSN = "postgresql://hub@db.example/ironlaw"


@pytest.fixture
def files(tmp_path):
    hand_in(tmp_path / "in", 3)
    return [(path, path.name) for path in sorted((tmp_path / "in").rglob("*")) if path.is_file()]


def brief(results):
    return [one.words() if isinstance(one, Refusal) else (one.file, one.learner, one.name, one.work.events) for one in results]


@pytest.mark.parametrize("pieces", [None, 1])
def test_several_processes_give_what_one_does_in_the_same_order(files, pieces, monkeypatch):
    """`pieces`: how many come back before one of the processes is killed by its file."""
    made = []

    class Pool:
        def __init__(self, count, context):
            made.append((count, context.get_start_method()))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def map(self, function, given, idle):
            for at, (piece, idle_s) in enumerate(zip(given, idle, strict=True)):
                if at == pieces:
                    raise BrokenProcessPool
                yield function(piece, idle_s)

    gc.enable()  # a report that ran in this process before may have left it off
    one_by_one = brief(reading.read_all(files, 600.0))
    monkeypatch.setattr(reading, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(reading, "FEWEST", 2)
    monkeypatch.setattr(reading, "AT_ONCE", 5)
    monkeypatch.setattr(reading, "cores", lambda: 4)
    monkeypatch.setattr(reading.threading, "active_count", lambda: 1)
    monkeypatch.setattr(reading, "installed", lambda: ("lab_01_magnitude",))
    monkeypatch.setattr(reading.multiprocessing, "get_all_start_methods", lambda: ["fork", "spawn"])
    seen = []
    monkeypatch.setattr(reading, "sheet", seen.append)
    assert brief(reading.read_all(files, 600.0)) == one_by_one and len(one_by_one) == len(files) == 24
    assert made == [(4, "fork")] and seen == ["lab_01_magnitude"]  # a copy of this process has the sheets already
    assert gc.isenabled()


def test_with_threads_no_process_is_copied(files, monkeypatch):
    seen = []

    def context(method):
        seen.append(method)
        raise BrokenProcessPool

    monkeypatch.setattr(reading.threading, "active_count", lambda: 2)
    monkeypatch.setattr(reading.multiprocessing, "get_context", context)
    monkeypatch.setattr(reading, "FEWEST", 2)
    monkeypatch.setattr(reading, "cores", lambda: 2)
    assert len(reading.read_all(files, 600.0)) == 24 and seen == ["spawn"]


class Database:
    """What a hub's database holds: how much was written to each learner's schema, and the ledgers."""

    def __init__(self, monkeypatch):
        self.written, self.ledgers, self.asked, self.now = {"ada": 1, "bob": 1}, {"ada": export(plan(1)), "bob": None}, [], 0.0
        monkeypatch.setattr(hub_following.hub_reading, "users", lambda admin: dict(self.written))
        monkeypatch.setattr(hub_following.hub_reading, "export_of", self.export_of)
        self.hub = Hub(DSN, KEY, 600.0, clock=lambda: self.now)

    def export_of(self, admin, user, key, largest):
        assert (key, largest) == (KEY, hub_following.LARGEST)
        self.asked.append(user)
        found = self.ledgers[user]
        if isinstance(found, Exception):
            raise found
        return found

    def look(self, now):
        self.now, self.asked = now, []
        return self.hub.look(), self.asked

    def kinds(self):
        return {user: kept.result.kind if isinstance(kept.result, Refusal) else "read" for user, kept in self.hub._kept.items()}


def test_a_hub_is_read_where_something_was_written(monkeypatch):
    database = Database(monkeypatch)
    assert database.look(0.0) == (True, ["ada", "bob"]) and database.kinds() == {"ada": "read", "bob": "empty"}
    assert isinstance(database.hub._kept["ada"].result, HandIn) and database.hub._kept["ada"].result.name == "ada"
    assert database.look(1.0) == (False, [])
    database.written["bob"] = 2
    assert database.look(2.0) == (False, ["bob"])  # read again, and still empty
    assert database.look(61.0) == (False, ["ada"])  # what a server counts may be late
    del database.written["bob"]
    assert database.look(62.0) == (True, []) and database.kinds() == {"ada": "read"}
    assert [one.name for one in database.hub.hand_ins().ledgers] == ["ada"]


def test_a_ledger_that_can_t_be_read_is_asked_for_less_and_less_often(monkeypatch):
    database = Database(monkeypatch)
    database.look(0.0)
    database.ledgers = dict.fromkeys(database.ledgers, LedgerUnavailable("the database does not answer"))
    database.written = {"ada": 2, "bob": 2}
    assert database.look(1.0)[1] == ["ada", "bob"]
    assert database.kinds() == {"ada": "read", "bob": "unreadable"}  # what was read before stays
    asked = [now for now in range(2, 200) if database.look(float(now))[1]]
    assert asked == [11, 31, 71, 151]  # 10, 20, 40 and 80 s after the last time
    database.ledgers["bob"] = ValueError("a row is no text")
    assert database.look(1000.0)[0] and database.kinds()["bob"] == "damaged"
    assert "its tables do not hold a ledger (a row is no text)" in database.hub._kept["bob"].result.words()


@pytest.mark.parametrize(
    ("place", "key", "words"),
    [("ledger.db", KEY, "is not a database; give the folder of the hand-ins"), (DSN, "short", "IRONLAW_LEDGER_KEY")],
)
def test_a_hub_needs_its_database_and_its_key(place, key, words):
    with pytest.raises(BadValue, match=words):
        Hub(place, key, 600.0)


@pytest.fixture
def live(monkeypatch, capsys, tmp_path):
    """What `ironlaw class live` would serve."""
    served = []
    monkeypatch.setattr(class_server, "serve", lambda *asked: served.append(asked))
    monkeypatch.chdir(tmp_path)

    def command(*argv):
        code = main(["class", "live", *argv])
        return (code, served.pop()) if served else (code, capsys.readouterr().err)

    return command


def test_the_page_follows_a_folder_or_a_hub(live, files, monkeypatch):
    code, (source, names, port, browser) = live("in", "--names", "--idle", "5", "--port", "0", "--no-browser")
    assert code == 0 and isinstance(source, Folder) and (str(source.folder), source.idle_s) == ("in", 300.0)
    assert (names, port, browser) == (True, 0, False)
    monkeypatch.setenv("IRONLAW_LEDGER_KEY", KEY)
    _, (source, names, _, browser) = live(DSN)
    assert isinstance(source, Hub) and source.key == KEY and (names, browser) == (False, True)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "ironlaw class live FOLDER"), (("nowhere",), "there is no folder nowhere"), ((DSN,), "IRONLAW_LEDGER_KEY"),
        (("in", "--assignment", "nothing.json"), "nothing.json"),
    ],
)  # fmt: skip
def test_what_no_page_can_follow_is_said_at_once(live, files, argv, words, monkeypatch):
    monkeypatch.delenv("IRONLAW_LEDGER_KEY", raising=False)
    code, message = live(*argv)
    assert code == 2 and words in message
