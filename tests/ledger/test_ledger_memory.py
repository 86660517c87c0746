"""A ledger in memory is the same ledger: the same chain, the same locks, the same export as one in SQLite."""

from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest

from ironlaw.errors import AlreadyCommitted, BadExport, LedgerDamaged
from ironlaw.ledger import Ledger, open_ledger
from ironlaw.ledger import chain as chains
from ironlaw.ledger.export_format import MOST_LEARNERS
from ironlaw.ledger.memory_store import MemoryStore

LAB = "lab_01_magnitude"
ME, SINCE = "0f0e0d0c-0000-4000-8000-000000000001", "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def fixed(monkeypatch):
    """`fixed()`: from now on every id and every time come in the same order."""

    def restart():
        ids, times = count(1), count(1)
        monkeypatch.setattr("ironlaw.ledger.events.uuid4", lambda: UUID(int=next(ids)))
        for module in ("events", "ledger"):
            monkeypatch.setattr(f"ironlaw.ledger.{module}.now", lambda: f"2026-02-01T00:00:00.{next(times):06d}Z")

    return restart


def memory(rows=()):
    return Ledger(MemoryStore(ME, SINCE, rows), ME)


def work(ledger):
    """A learner who does a bit of everything, with what a JSON text has to escape."""
    ledger.append(LAB, "opened", {})
    ledger.set_learner_name("Zoë \U0001f600")
    ledger.commit_prediction(LAB, "act1", "e6", 1e6, 4, False, sealed={"estimate": 12.5, "sketch": [1.0, 2.5]})
    ledger.commit_prediction(LAB, "act1", "e9", 1e9, 2, True, attempt=2)
    ledger.append(LAB, "reflection", {"question": "act1_reflection", "choice": "a", "correct": True, "misconception": None})
    ledger.reset()
    ledger.commit_prediction(LAB, "act1", "e6", 1e6, 4, False)
    ledger.append(LAB, "design", {"dials": {"act1": {"batch": 8}}, "note": 'a "quoted" back\\slash'})


def test_the_chain_is_the_same_as_in_a_database(fixed, tmp_path):
    with open_ledger(tmp_path / "ledger.db") as stored:
        fixed()
        work(stored)
        export = stored.export()
        since = export["chain"]["since"]
    fixed()
    ledger = Ledger(MemoryStore(stored.learner, since), stored.learner)
    work(ledger)
    mine = ledger.export()
    assert {**mine, "exported": ""} == {**export, "exported": ""}
    assert mine["chain"]["events"] == 8 and len(mine["chain"]["head"]) == 64


def test_reading_agrees_with_a_database(fixed, tmp_path):
    answers = []
    with open_ledger(tmp_path / "ledger.db") as stored:
        for ledger in (stored, memory()):
            fixed()
            work(ledger)
            parts = (ledger.events(), ledger.events(LAB, "prediction"), ledger.history(), ledger.design(LAB), ledger.track())
            mine = [[(e.id, e.epoch, e.kind, e.payload) for e in part] if isinstance(part, list) else part for part in parts]
            answers.append((mine, ledger.learner_name(), ledger.progress(LAB).predictions, len(ledger.attempts(LAB, "act1"))))
    assert answers[0] == answers[1]
    assert answers[0][1] == "Zoë \U0001f600" and answers[0][3] == 1


def test_exports_go_both_ways_and_an_edited_one_is_refused(tmp_path):
    ledger = memory()
    work(ledger)
    with open_ledger(tmp_path / "ledger.db") as stored:
        assert stored.import_(ledger.export()) == 8 and stored.import_(ledger.export()) == 0
        stored.append(LAB, "opened", {})
        assert memory().import_(stored.export()) == 9
        assert ledger.import_(stored.export()) == 1
    edited = ledger.export()
    edited["events"][2]["payload"]["correct"] = True
    with pytest.raises(BadExport, match=r"event 3 .*was changed"):
        memory().import_(edited)


def test_a_prediction_stands_also_against_one_that_another_tab_made():
    first, second = memory(), memory()
    first.commit_prediction(LAB, "act1", "e6", 1e6, 4, False)
    second.store.hear(first.store.unsaved())
    with pytest.raises(AlreadyCommitted):
        second.commit_prediction(LAB, "act1", "e9", 1e9, 4, True)
    assert second.export()["chain"] == first.export()["chain"] and not second.store.unsaved()


def test_what_could_not_be_stored_was_never_there():
    ledger = memory()
    ledger.append(LAB, "opened", {})
    ledger.store.saved()
    before = ledger.export()["chain"]
    ledger.commit_prediction(LAB, "act1", "e6", 1e6, 4, False)
    assert [row[5] for row in ledger.store.unsaved()] == ["prediction"]
    assert ledger.store.take_back() == 1 and ledger.export()["chain"] == before and ledger.prediction(LAB, "act1") is None
    ledger.commit_prediction(LAB, "act1", "e9", 1e9, 4, True)  # its lock is free again
    assert ledger.prediction(LAB, "act1").payload["choice"] == "e9"


def test_a_write_that_fails_half_way_leaves_nothing():
    ledger = memory()
    work(ledger)
    before = list(ledger.store.rows)
    with pytest.raises(RuntimeError), ledger.store.writing() as rows:
        rows.append([replace(ledger.history()[0], id=str(UUID(int=99)))])
        raise RuntimeError("in between")
    assert ledger.store.rows == before and chains.walk(before, chains.genesis(ME, SINCE)).fault == ""


@pytest.mark.parametrize("column", [0, 6, 11])
def test_rows_that_were_changed_where_they_are_stored_are_noticed(column):
    ledger = memory()
    work(ledger)
    rows = [list(row) for row in ledger.store.rows]
    assert memory(rows).export()["chain"] == ledger.export()["chain"]
    rows[2][column] = rows[2][column].replace("e6", "e9") if column == 6 else "x" * len(rows[2][column])
    with pytest.raises(LedgerDamaged, match="was changed after it was written") as damage:
        memory(rows)
    assert damage.value.reason.startswith("event ")


def test_a_ledger_holds_the_events_of_few_other_ledgers():
    """A reset writes an event for each of them."""
    ledger = Ledger(MemoryStore(ME, SINCE), ME)

    def export(many):
        made = [str(UUID(int=number, version=4)) for number in range(1, many + 1)]
        event = {"epoch": 1, "lab": "x", "attempt": 1, "kind": "opened", "payload": {}, "time": "2026-01-05T12:00:00Z"}
        listed = [{**event, "id": each, "learner": each} for each in made]
        head = {"format": "ironlaw-ledger/1", "exported": event["time"], "learner": {"id": made[0], "name": None}}
        return {**head, "events": listed}

    assert ledger.import_(export(MOST_LEARNERS)) == MOST_LEARNERS
    with pytest.raises(BadExport, match="is the most"):
        ledger.import_(export(MOST_LEARNERS + 1))
    ledger.reset()
