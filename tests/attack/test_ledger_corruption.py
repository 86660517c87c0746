"""A ledger's file, rotten and tampered with. Whatever changes its content is noticed: by `verify` always, by opening in these ledgers.

What counts as content is read past the ledger, by SQLite alone: the events in their order, their owner, and which epoch is current.
`IRONLAW_ATTACK=full` turns bits all over a small file for 60 seconds; otherwise 80 bits and 30 ranges, some in every stretch of it.
"""

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from attack_length import FULL

from ironlaw.errors import LedgerError
from ironlaw.ledger import open_ledger, verify
from ironlaw.ledger.chain import CONTENT, link
from ironlaw.ledger.guards import SQLITE_TRIGGERS

LAB = "lab_01_magnitude"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of a ledger of some pages: predictions, reviews, texts, two epochs."""
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.set_learner_name("Ada")
        for number in range(30):
            ledger.commit_prediction(LAB, "act1", "e6", 1e6, 4, False, number + 1)
            ledger.append("review", "written", {"prompt": "surprise", "text": f"größer {number} " * 20})
            if number == 15:
                ledger.reset()
        ledger.append(LAB, "design", {"batch": 8})
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def content(path):
    """What SQLite says that the file holds, whatever ironlaw thinks of it; None if it can't be read."""
    queries = (
        "SELECT seq, id, learner, epoch, lab, attempt, kind, question, payload, time, extra FROM ironlaw_events ORDER BY seq",
        "SELECT id, since FROM ironlaw_learner",
        "SELECT learner, max(epoch) FROM ironlaw_events GROUP BY learner",
        f"SELECT id FROM ironlaw_events WHERE lab = '{LAB}' AND kind = 'prediction' ORDER BY seq",
    )
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return [connection.execute(query).fetchall() for query in queries]
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def noticed(act):
    """Whether it refuses, or says that something happened."""
    try:
        told = act()
    except LedgerError:
        return True
    return bool(told)


def opened(path):
    with open_ledger(path) as ledger:
        return ledger.notice


def place(path, data):
    for found in path.parent.iterdir():
        found.unlink()
    path.write_bytes(data)


def examine(path, data, before):
    """(content changed, verify noticed, opening noticed)"""
    place(path, data)
    changed = content(path) != before
    if not changed:
        return False, False, False
    return True, noticed(lambda: verify(path).guards), noticed(lambda: opened(path))


def attack(path, whole, spoil, rounds, seconds):
    place(path, whole)
    before = content(path)
    assert before is not None and len(before[0]) == 63 and verify(path).events == 63
    until, results = time.monotonic() + seconds, []
    for number in range(rounds):
        data = bytearray(whole)
        spoil(data, number)
        results.append((number, *examine(path, bytes(data), before)))
        if time.monotonic() > until:
            break
    return results


def report(results, what, figure):
    changed = [result for result in results if result[1]]
    missed = {name: sum(not seen[index] for _, _, *seen in changed) for index, name in enumerate(("by verify", "by opening"))}
    figure(f"{len(results):,} {what} in a ledger's file: {len(changed):,} changed its content; not noticed: {missed}")
    assert changed and missed == {"by verify": 0, "by opening": 0}


def test_single_bits(path, whole, figure):
    chance = random.Random(15)

    def flip(data, number):
        bits = 8 * len(data)
        bit = number * 97 % bits if FULL else (number * bits + chance.randrange(bits)) // 80  # 97 divides no 8 × 4,096 × n
        data[bit // 8] ^= 1 << bit % 8

    results = attack(path, whole, flip, *((8 * len(whole), 60) if FULL else (80, float("inf"))))
    report(results, "single bits", figure)


def test_zeroed_ranges(path, whole, figure):
    chance = random.Random(16)

    def zero(data, _):
        start, length = chance.randrange(len(data)), chance.choice([1, 4, 16, 64, 512, 4096])
        data[start : start + length] = bytes(len(data[start : start + length]))

    report(attack(path, whole, zero, *((100_000, 30) if FULL else (30, float("inf")))), "zeroed ranges", figure)


def test_single_bits_of_all_that_a_killed_process_leaves(tmp_path, figure):
    """The file and its log, as a process leaves them that is killed after its last commit."""
    path, code = tmp_path / "ledger.db", "import os, sys\nfrom ironlaw.ledger import open_ledger\nledger = open_ledger(sys.argv[1])\n"
    code += "for n in range(40):\n    ledger.append('review', 'written', {'prompt': 'surprise', 'text': f'{n} ' * 60})\nos._exit(0)\n"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    left = {found: found.read_bytes() for found in path.parent.iterdir() if not found.name.endswith("-shm")}
    assert len(left) == 2
    before, chance, changed, missed = content(path), random.Random(17), 0, []
    for _ in range(1500 if FULL else 60):
        name, data = chance.choice([(found, bytearray(data)) for found, data in left.items()])
        bit = chance.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
        for found in path.parent.iterdir():
            found.unlink()
        for found, whole in left.items():
            found.write_bytes(data if found == name else whole)
        if content(path) == before:
            continue
        changed += 1
        if not (noticed(lambda: verify(path).guards) and noticed(lambda: opened(path))):
            missed.append((name.name, bit))
    figure(f"single bits of a file and its log: {changed:,} changed the content; not noticed: {len(missed)}")
    assert changed and missed == []


# --- by hand

DROPPED = [f"DROP TRIGGER ironlaw_{table}_no_{act}" for table in ("events", "learner", "head") for act in ("update", "delete", "replace")]
TAMPERED = {
    "a prediction made right": ["UPDATE ironlaw_events SET payload = replace(payload, 'false', 'true') WHERE seq = 2"],
    "a time": ["UPDATE ironlaw_events SET time = '2020-01-01T00:00:00.000000Z' WHERE seq = 40"],
    "the lock's own column": ["UPDATE ironlaw_events SET question = 'act9' WHERE seq = 2"],
    "one removed": ["DELETE FROM ironlaw_events WHERE seq = 20"],
    "the last ones removed": ["DELETE FROM ironlaw_events WHERE seq > 50"],
    "the last ones removed, and the count": [
        "DELETE FROM ironlaw_events WHERE seq > 50", "UPDATE ironlaw_head SET events = 50",
    ],
    "all removed": ["DELETE FROM ironlaw_events"],
    "two exchanged": [
        "UPDATE ironlaw_events SET seq = 1000 WHERE seq = 3", "UPDATE ironlaw_events SET seq = 3 WHERE seq = 5",
        "UPDATE ironlaw_events SET seq = 5 WHERE seq = 1000",
    ],
    "one added": [
        "INSERT INTO ironlaw_events SELECT 64, '00000000-0000-4000-8000-000000000000', learner, epoch, lab, 99, kind, question, payload,"
        " time, NULL, hash, 'x' FROM ironlaw_events WHERE seq = 63",
    ],
    "another owner": ["UPDATE ironlaw_learner SET id = '00000000-0000-4000-8000-000000000000'"],
    "no owner": ["DELETE FROM ironlaw_learner"],
    "no head": ["DELETE FROM ironlaw_head"],
}  # fmt: skip


def sql(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("triggers", ["dropped", "put back"])
@pytest.mark.parametrize("what", TAMPERED)
def test_changes_by_sql_are_noticed_and_the_rest_is_kept(path, whole, what, triggers):
    """With the triggers dropped, and by someone who puts them back."""
    place(path, whole)
    with open_ledger(path) as ledger:
        before = {event.id: event for event in ledger.history()}
    with closing(sqlite3.connect(path)) as connection:
        guards = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    sql(path, *DROPPED, *TAMPERED[what], *(guards if triggers == "put back" else ()))
    with pytest.raises(LedgerError):
        verify(path)
    broken = content(path)
    with open_ledger(path) as ledger:
        assert "Your ledger was damaged" in ledger.notice
        *carried, record = ledger.history()
        assert record.kind == "carried" and all(before[event.id] == event for event in carried), "nothing that was changed is carried over"
        least = {"all removed": 0, "the last ones removed": 50, "the last ones removed, and the count": 50}.get(what, 62)
        assert len(carried) >= least
        ledger.append(LAB, "opened", {})
    (kept,) = (found for found in path.parent.iterdir() if ".broken-" in found.name)
    assert content(kept) == broken
    assert verify(path).events == len(carried) + 2


def test_a_second_prediction_that_was_smuggled_in_is_not_carried_over(path, whole):
    """With the lock's index dropped, and a hash that fits."""
    place(path, whole)
    with closing(sqlite3.connect(path)) as connection:
        (prev,) = connection.execute("SELECT hash FROM ironlaw_head").fetchone()
        row = connection.execute(f"SELECT {', '.join(CONTENT)} FROM ironlaw_events WHERE kind = 'prediction' ORDER BY seq DESC").fetchone()
    second = ("00000000-0000-4000-8000-000000000000", *row[1:])
    sql(path, *DROPPED, "DROP INDEX ironlaw_events_lock", "UPDATE ironlaw_head SET events = 70")
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = f"{', '.join(CONTENT)}, question, prev, hash"
        values = (*second, "act1", prev, link(prev, second))
        connection.execute(f"INSERT INTO ironlaw_events ({columns}) VALUES ({', '.join('?' * len(values))})", values)
    with open_ledger(path) as ledger:
        assert "Your ledger was damaged" in ledger.notice
        assert [event.kind for event in ledger.history()[-2:]] == ["design", "carried"] and len(ledger.history()) == 64


def test_verify_names_the_first_event_that_was_changed(path, whole):
    place(path, whole)
    with open_ledger(path) as ledger:
        event = ledger.history()[19]
    sql(path, *DROPPED, "UPDATE ironlaw_events SET payload = replace(payload, '4', '5') WHERE seq IN (20, 30)")
    with pytest.raises(LedgerError, match=rf"event {event.id} \({event.kind}, {event.lab}, .* UTC\) was changed after it was written"):
        verify(path)


@pytest.mark.parametrize("left_out", ["DROP TRIGGER ironlaw_events_no_update", "DROP INDEX ironlaw_events_lock", "altered"])
def test_a_guard_that_is_missing_or_altered_is_noticed_and_put_back(path, whole, left_out):
    place(path, whole)
    altered = (
        "DROP TRIGGER ironlaw_events_no_delete",
        "CREATE TRIGGER ironlaw_events_no_delete BEFORE DELETE ON ironlaw_events BEGIN SELECT 1; END",
    )
    sql(path, *(altered if left_out == "altered" else [left_out]))
    assert verify(path).guards
    with open_ledger(path) as ledger:
        assert "protection" in ledger.notice and "none was changed" in ledger.notice
        assert len(ledger.history()) == 63
    assert verify(path).guards == ()
    assert not [found for found in path.parent.iterdir() if "broken" in found.name]
    with open_ledger(path) as ledger:
        assert ledger.notice == ""
    for change in ("UPDATE ironlaw_events SET epoch = 1", "DELETE FROM ironlaw_events"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            sql(path, change)


def test_a_long_ledger_is_checked_from_its_end_and_wholly_on_request(path):
    """Opening looks at the last 1,000 events; an older change is found by `verify`, and by every opening once a guard is missing."""
    with open_ledger(path) as ledger:
        told = ledger.export()
        item = {"epoch": 1, "lab": "lab", "attempt": 1, "kind": "card", "payload": {"n": 1}, "time": "2026-01-01T00:00:00Z"}
        events = [{**item, "id": f"00000000-0000-4000-8000-{n:012}", "learner": ledger.learner} for n in range(1500)]
        ledger.import_({**told, "format": "ironlaw-ledger/1", "events": events})
    data = path.read_bytes()
    for seq, seen in ((1400, True), (100, False)):
        place(path, data)
        guard = SQLITE_TRIGGERS["ironlaw_events_no_update"]
        change = f"UPDATE ironlaw_events SET payload = '{{\"n\": 2}}' WHERE seq = {seq}"
        sql(path, "DROP TRIGGER ironlaw_events_no_update", change, guard)
        with pytest.raises(LedgerError, match=f"{seq - 1:012}"):
            verify(path)
        with open_ledger(path) as ledger:
            assert ("damaged" in ledger.notice) == seen
