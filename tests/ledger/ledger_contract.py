"""What a ledger promises, whatever database it lies in. Run on SQLite by test_ledger_sqlite.py, on PostgreSQL by tests/postgres.

Each of them has a fixture `place`: the address of a ledger that does not exist yet, one per call.
"""

import copy
import json
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Thread
from threading import Event as Flag
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ironlaw.errors import AlreadyCommitted, BadExport, BadValue, IronlawError, LedgerNewer, LedgerUnavailable
from ironlaw.ledger import Event, open_ledger, opening, sql_tables

LAB, OTHER = "lab_01_magnitude", "lab_07_fusion"
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def url(place):
    return place()


@pytest.fixture
def ledger(url):
    with open_ledger(url) as opened:
        yield opened


def raw(url, statement):
    """Past the ledger: the database's own driver, as someone with a database browser would."""
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []
    with sqlite3.connect(url) as connection:
        found = connection.execute(statement).fetchall()
    connection.close()
    return found


def commit(ledger, question="act1", attempt=1, choice=2, lab=LAB):
    return ledger.commit_prediction(lab, question, choice, 1e6, 4, False, attempt)


def at_once(count, work):
    """The work in that many threads, started together; what each returned or raised."""
    gate = Barrier(count)

    def begin(number):
        gate.wait()
        try:
            return work(number)
        except IronlawError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def processes(count, script, *arguments):
    """The script in that many processes at once; the words that each printed."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{script}", *arguments]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(count)]
    done = [process.communicate(timeout=180) for process in started]
    assert all(process.returncode == 0 for process in started), done
    return [out.split() for out, _ in done]


# --- events ---


def test_a_new_ledger_holds_nothing(ledger, url):
    assert ledger.events() == ledger.history() == []
    assert ledger.prediction(LAB, "act1") is None
    assert ledger.design(LAB) is ledger.track() is ledger.learner_name() is None
    assert ledger.designs() == {}
    assert (ledger.progress(LAB).started, ledger.progress(LAB).last_event) == (False, None)
    assert raw(url, "SELECT count(*) FROM ironlaw_learner") == [(1,)]


def test_an_event_comes_back_as_it_was_written(ledger, url):
    payload = {"z": 1, "a": [True, None, "größer 🦊 \x00 \\ ' \" %s :x", 1e-300, 2**70, -0.0, {"": {}}]}
    before = datetime.now(UTC)
    event = ledger.append(LAB, "design", payload, attempt=3)
    assert (event.lab, event.kind, event.attempt, event.epoch, event.learner) == (LAB, "design", 3, 1, ledger.learner)
    assert before - timedelta(seconds=1) < datetime.fromisoformat(event.time) < before + timedelta(seconds=20)
    assert event.time.endswith("Z")
    with open_ledger(url) as second:
        assert second.events() == [event]
        assert second.learner == ledger.learner
        assert json.dumps(second.events()[0].payload) == json.dumps(payload)  # the keys in their order, too


def test_what_is_handed_in_is_not_shared(ledger):
    payload = {"list": [1]}
    event = ledger.append(LAB, "design", payload)
    payload["list"].append(2)
    assert event.payload == ledger.design(LAB) == {"list": [1]}


def test_events_are_in_order_and_can_be_chosen(ledger):
    made = [ledger.append(lab, kind, {}) for lab in (LAB, OTHER) for kind in ("opened", "design", "opened")]
    assert ledger.events() == made
    assert ledger.events(LAB) == made[:3]
    assert ledger.events(kind="design") == [made[1], made[4]]
    assert ledger.events(OTHER, "opened") == [made[3], made[5]]
    with pytest.raises(BadValue, match="opend"):
        ledger.events(kind="opend")


def test_two_open_ledgers_see_each_other(ledger, url):
    with open_ledger(url) as second:
        first = ledger.append(LAB, "opened", {})
        assert second.events() == [first]
        assert commit(second) == ledger.prediction(LAB, "act1")


BAD = [
    (("", "opened", {}), "lab is ''"),
    ((None, "opened", {}), "lab is None"),
    (("a\nb", "opened", {}), "printable"),
    (("x" * 201, "opened", {}), "200"),
    ((LAB, "opend", {}), "did you mean opened"),
    ((LAB, "reset", {}), r"reset\(\)"),
    ((LAB, "opened", []), "object"),
    ((LAB, "opened", None), "object"),
    ((LAB, "design", {"x": float("nan")}), "JSON"),
    ((LAB, "design", {"x": float("inf")}), "JSON"),
    ((LAB, "design", {"x": {1, 2}}), "JSON"),
    ((LAB, "design", {"x": "\ud800"}), "JSON"),
    ((LAB, "design", {"x": "x" * 1_000_001}), "too large"),
    ((LAB, "opened", {}, 0), "attempt is 0"),
    ((LAB, "opened", {}, True), "attempt is True"),
    ((LAB, "opened", {}, 1.0), "attempt is 1.0"),
    ((LAB, "opened", {}, 10**30), "attempt"),
    ((LAB, "prediction", {"question": "act1"}), "choice"),
    ((LAB, "reflection", {}), "no 'question'"),
    ((LAB, "context", {"value": "cloud"}), "context"),
    (("", "named", {"name": "x" * 81}), "80"),
    (("", "named", {}), "no 'name'"),
]


def test_what_is_no_event_is_refused(ledger):
    for arguments, words in BAD:
        with pytest.raises(IronlawError, match=words):
            ledger.append(*arguments)
        assert ledger.events() == [], arguments


# --- the review's events ---

REVIEW = {
    "reviewed": {
        "card": "ridge_point", "seed": 3, "answer": "153", "confidence": 4, "correct": True, "misconception": None,
        "at": "2026-01-31T12:00:00Z",
    },
    "undo": {"event": "6fa459ea-ee8a-4ca4-894e-db77e160355e"},
    "ticked": {"statement": "derive_ridge", "ticked": True},
    "written": {"prompt": "surprise", "text": "größer\nals gedacht"},
}  # fmt: skip
SPOILT = [
    ("reviewed", {"card": ""}, "card is ''"),
    ("reviewed", {"confidence": 6}, "confidence is 6"),
    ("reviewed", {"correct": "yes"}, "correct is 'yes'"),
    ("reviewed", {"misconception": 7}, "misconception is 7"),
    ("reviewed", {"at": "2026-01-31T12:00:00"}, "at is"),
    ("reviewed", {"at": 5}, "at is 5"),
    ("undo", {"event": "the last"}, "UUID"),
    ("ticked", {"statement": None}, "statement is None"),
    ("ticked", {"ticked": 1}, "ticked is 1"),
    ("written", {"prompt": "a\nb"}, "prompt"),
    ("written", {"text": None}, "text is None"),
]


def test_the_review_s_events_are_kept_exported_and_taken_in(ledger, place):
    made = [ledger.append("review", kind, payload) for kind, payload in REVIEW.items()]
    assert ledger.events("review") == made
    assert [event.payload for event in made] == list(REVIEW.values())
    with open_ledger(place()) as second:
        assert second.import_(ledger.export()) == len(made)
        assert second.events("review") == made
        assert second.import_(ledger.export()) == 0


def test_the_review_s_events_that_are_not_whole_are_refused(ledger):
    for kind, changed, words in SPOILT:
        with pytest.raises(BadValue, match=words):
            ledger.append("review", kind, REVIEW[kind] | changed)
    for field in REVIEW["reviewed"]:
        with pytest.raises(BadValue, match=f"has no '{field}'"):
            ledger.append("review", "reviewed", {name: value for name, value in REVIEW["reviewed"].items() if name != field})
    assert ledger.events() == []


# --- what was measured in a lab ---

TIMES = ("wall_s", "low_s", "high_s", "sync_s", "sync_low_s", "sync_high_s")
ROW = {"kind": "launch", "op": "add", "samples": 30, "unknown": [1], **dict.fromkeys(TIMES, 7.78e-07)}
MEASURED = {
    "experiment": "tiny_ops", "library": "NumPy 2.1.3", "rows": [ROW],
    "machine": {"cpu": "Neoverse-N1", "cores": 2}, "software": {"python": "3.11.2"}, "noise": {"noisy": False},
}  # fmt: skip


def test_a_measurement_is_kept_exported_and_taken_in(ledger, place):
    made = ledger.append(LAB, "measured", MEASURED)
    assert ledger.events(LAB, "measured") == [made] and made.payload == MEASURED
    with open_ledger(place()) as second:
        assert second.import_(ledger.export()) == 1
        assert second.events(kind="measured") == [made]
    ledger.reset()
    assert ledger.events(kind="measured") == []


def test_a_measurement_that_is_not_whole_is_refused(ledger):
    spoilt = [({"experiment": ""}, "experiment is ''"), ({"rows": []}, "rows is"), ({"rows": [7]}, "item 1 is 7")]
    spoilt += [({field: None}, f"{field} is None") for field in ("machine", "software", "noise")]
    spoilt += [({"rows": [ROW | {name: value}]}, f"{name} is") for name, value in (("wall_s", "1"), ("low_s", -1.0), ("samples", 1.5))]
    spoilt += [({"rows": [ROW | {"kind": "op", "params": {"n": 64, "dtype": "<script>"}}]}, "dtype is '<script>'")]
    for changed, words in spoilt:
        with pytest.raises(BadValue, match=words):
            ledger.append(LAB, "measured", MEASURED | changed)
    assert ledger.events() == []


# --- the lock ---


def test_a_prediction_is_committed_once(ledger):
    first = commit(ledger, choice=2)
    assert first.payload == {"question": "act1", "choice": 2, "value": 1e6, "confidence": 4, "correct": False}
    with pytest.raises(AlreadyCommitted, match=r"act1, attempt 1: .* already committed .*; to try again, commit attempt 2"):
        commit(ledger, choice=3)
    with pytest.raises(AlreadyCommitted):
        ledger.append(LAB, "prediction", {**first.payload, "choice": 3})
    assert ledger.events() == [first]


def test_each_question_lab_and_attempt_has_its_own(ledger):
    first = commit(ledger)
    others = [commit(ledger, "act2"), commit(ledger, lab=OTHER)]
    third, second = commit(ledger, attempt=3), commit(ledger, attempt=2)
    assert ledger.attempts(LAB, "act1") == [first, second, third]
    assert ledger.prediction(LAB, "act1") == third
    assert [ledger.prediction(LAB, "act2"), ledger.prediction(OTHER, "act1")] == others
    assert ledger.prediction(OTHER, "act2") is None


PARTS = ({"confidence": 0}, {"confidence": 6}, {"confidence": 2.5}, {"confidence": None}, {"correct": 1}, {"question": ""})


def test_a_prediction_that_is_not_whole_is_refused(ledger):
    for changed in PARTS:
        said = dict(lab=LAB, question="act1", choice=1, value=2.0, confidence=3, correct=True, attempt=1) | changed
        with pytest.raises(BadValue, match=next(iter(changed))):
            ledger.commit_prediction(**said)
    assert ledger.events() == []


def insert(seq, id, attempt="attempt", question="question", prev="'p'"):
    values = f"{seq}, {id}, learner, epoch, lab, {attempt}, kind, {question}, '{{}}', time, NULL, {prev}, 'h'"
    return f"INSERT INTO ironlaw_events SELECT {values} FROM ironlaw_events"


CHANGES = [
    "UPDATE ironlaw_events SET payload = '{}'",
    "UPDATE ironlaw_events SET attempt = attempt + 1 WHERE kind = 'prediction'",
    "DELETE FROM ironlaw_events",
    "DELETE FROM ironlaw_events WHERE kind = 'prediction'",
    "UPDATE ironlaw_learner SET id = 'x'",
    "DELETE FROM ironlaw_learner",
    "INSERT INTO ironlaw_learner VALUES (2, 'x', 'y')",
    "UPDATE ironlaw_head SET hash = 'x'",
    "UPDATE ironlaw_head SET events = 0",
    "DELETE FROM ironlaw_head",
    "INSERT INTO ironlaw_head VALUES (2, 0, 'x')",
    # the same id; the same place in the order; the same lock; a prediction that no lock would hold; the same place in the chain
    insert("seq + 9", "id", attempt="attempt + 1"),
    insert("seq", "'x'", attempt="attempt + 1"),
    insert("seq + 9", "'x'"),
    insert("seq + 9", "'x'", question="NULL"),
    insert("seq + 9", "'x'", attempt="attempt + 1", prev="prev"),
]
SAME_ID = insert("seq + 9", "id", attempt="attempt + 1")
UPSERT = " ON CONFLICT (id) DO UPDATE SET payload = excluded.payload"
SQLITE = [
    *(change.replace("INSERT", f"INSERT OR {way}") for change in CHANGES if change.startswith("INSERT") for way in ("REPLACE", "IGNORE")),
    "UPDATE OR REPLACE ironlaw_events SET payload = '{}'",
    "INSERT OR REPLACE INTO ironlaw_learner VALUES (1, 'x', 'y')",
    "INSERT OR REPLACE INTO ironlaw_head VALUES (1, 9, 'x')",
    SAME_ID.replace(" FROM ironlaw_events", " FROM ironlaw_events WHERE true") + UPSERT,
]
POSTGRES = [
    "TRUNCATE ironlaw_events",
    "TRUNCATE ironlaw_learner CASCADE",
    "SET session_replication_role = replica; DELETE FROM ironlaw_events",
    "INSERT INTO ironlaw_learner VALUES (1, 'x', 'y') ON CONFLICT (one) DO UPDATE SET id = 'x'",
    SAME_ID + UPSERT,
    "WITH gone AS (DELETE FROM ironlaw_events RETURNING *) SELECT * FROM gone",
]


def test_no_sql_changes_what_is_committed(ledger, url):
    event = commit(ledger)
    everything = [f"SELECT * FROM ironlaw_{table}" for table in ("events", "learner", "head")]
    before = [raw(url, statement) for statement in everything]
    for change in CHANGES + (POSTGRES if url.startswith("postgresql") else SQLITE):
        refused = pytest.raises((sqlite3.IntegrityError, psycopg.errors.IntegrityError))
        with suppress(sqlite3.IntegrityError) if "OR IGNORE" in change else refused:  # which may pass over a row without a word
            raw(url, change)
        assert [raw(url, statement) for statement in everything] == before, change
    assert ledger.events() == [event]


def test_of_racing_threads_one_commits(ledger, url):
    with open_ledger(url) as second:
        done = at_once(8, lambda number: commit((ledger, second)[number % 2], choice=number))
    won = [result for result in done if isinstance(result, Event)]
    assert len(won) == 1 and sum(isinstance(result, AlreadyCommitted) for result in done) == 7
    assert ledger.events() == won


RACE = """
from ironlaw.ledger import open_ledger
from ironlaw.errors import AlreadyCommitted
ledger = open_ledger(sys.argv[1])
print(ledger.learner)
for attempt in range(1, 21):
    try:
        print(ledger.commit_prediction("lab", "act1", 1, 1.0, 3, True, attempt).id)
    except AlreadyCommitted:
        pass
"""


def test_of_racing_processes_one_makes_the_ledger_and_one_commits(url):
    told = processes(3, RACE, url)
    with open_ledger(url) as ledger:
        assert {words[0] for words in told} == {ledger.learner}
        won = sorted(word for words in told for word in words[1:])
        assert won == sorted(event.id for event in ledger.events())
        assert [event.attempt for event in ledger.attempts("lab", "act1")] == list(range(1, 21))


def test_threads_may_make_and_share_a_ledger(url):
    opened = at_once(4, lambda _: open_ledger(url))
    assert len({ledger.learner for ledger in opened}) == 1
    made = at_once(4, lambda number: [opened[0].append(LAB, "opened", {"n": number * 10 + i}) for i in range(10)])
    assert sorted(event.payload["n"] for event in opened[3].events()) == list(range(40))
    assert {event.id for events in made for event in events} == {event.id for event in opened[1].events()}
    for ledger in opened:
        ledger.close()


# --- what is derived ---


def test_the_newest_design_counts(ledger):
    ledger.append(LAB, "design", {"batch": 1})
    ledger.append(OTHER, "design", {"fusion_enabled": True})
    ledger.append(LAB, "design", {"batch": 8})
    assert ledger.design(LAB) == {"batch": 8}
    assert ledger.designs() == {LAB: {"batch": 8}, OTHER: {"fusion_enabled": True}}
    assert ledger.design("lab_11_roofline") is None


def test_progress_counts_questions(ledger):
    ledger.append(LAB, "opened", {})
    assert ledger.progress(LAB).started and not ledger.progress(OTHER).started
    for attempt in (1, 2):
        commit(ledger, attempt=attempt)
    commit(ledger, "act2")
    answers = [ledger.append(LAB, "reflection", {"question": "act1", "choice": choice, "correct": True}) for choice in (0, 3)]
    found = ledger.progress(LAB)
    assert (found.predictions, found.reflections, found.saved, found.last_event) == (2, 1, False, answers[-1])
    assert ledger.answers(LAB, "act1") == answers and ledger.answers(LAB, "act2") == []
    ledger.append(LAB, "design", {})
    assert ledger.progress(LAB).saved


def test_the_last_context_and_name(ledger):
    for lab, context in ((LAB, "cloud"), (OTHER, "tiny")):
        ledger.append(lab, "context", {"context": context})
    assert ledger.track() == "tiny"
    for name in ("Ada", "  Emmy Nöther "):
        ledger.set_learner_name(name)
    assert ledger.learner_name() == "Emmy Nöther"
    ledger.set_learner_name(None)
    assert ledger.learner_name() is None
    with pytest.raises(BadValue, match="printable"):
        ledger.set_learner_name("a\x00b")


def test_a_reset_begins_anew_and_keeps_everything(ledger):
    ledger.set_learner_name("Ada")
    before = [commit(ledger), ledger.append(LAB, "design", {"batch": 1}), ledger.append(LAB, "context", {"context": "cloud"})]
    reset = ledger.reset()
    assert (reset.epoch, reset.kind) == (2, "reset")
    assert ledger.events() == [reset]
    assert ledger.prediction(LAB, "act1") is ledger.design(LAB) is ledger.track() is None
    assert ledger.learner_name() == "Ada"
    again = commit(ledger)  # attempt 1 of the new epoch
    assert (again.epoch, again.attempt) == (2, 1)
    assert ledger.attempts(LAB, "act1") == [again]
    assert ledger.history()[1:] == [*before, reset, again]
    assert [item["id"] for item in ledger.export()["events"]] == [event.id for event in ledger.history()]
    assert ledger.reset().epoch == 3


# --- to and from JSON ---

names = st.sampled_from([LAB, OTHER, "lab é"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
acts = st.one_of(
    st.tuples(st.just("append"), names, st.sampled_from(["opened", "design", "card"]), st.dictionaries(st.text(max_size=5), values)),
    st.tuples(st.just("append"), names, st.just("measured"), st.just(MEASURED)),
    st.tuples(st.just("commit"), names, st.sampled_from(["act1", "act2"]), values, st.integers(1, 5)),
    st.tuples(st.just("name"), st.text("aé ", max_size=5)),
    st.tuples(st.just("reset")),
)


def act(ledger, what, *arguments):
    if what == "append":
        ledger.append(*arguments)
    elif what == "commit":
        lab, question, value, confidence = arguments
        ledger.commit_prediction(lab, question, value, value, confidence, True, len(ledger.attempts(lab, question)) + 1)
    elif what == "name":
        ledger.set_learner_name(arguments[0])
    else:
        ledger.reset()


def test_export_and_import_carry_everything(place):
    with open_ledger(place()) as first, open_ledger(place()) as second:

        @settings(max_examples=12, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
        @given(st.lists(acts, max_size=6))
        def carry(done):
            for one in done:
                act(first, *one)
            told = json.loads(json.dumps(first.export()))
            assert second.import_(told) == len(done)
            assert second.import_(told) == 0
            assert second.history() == first.history()
            assert second.events() == first.events()
            assert plain(second.export())["events"] == plain(told)["events"]
            assert (second.designs(), second.learner_name()) == (first.designs(), first.learner_name())
            assert first.import_(second.export()) == 0

        carry()


@pytest.fixture
def told(place):
    """An export of another ledger: a prediction, a design, a name."""
    with open_ledger(place()) as other:
        commit(other)
        other.append(LAB, "design", {"batch": 4})
        other.set_learner_name("Ada")
        return other.export()


def test_the_export_s_shape(told):
    assert list(told) == ["format", "exported", "learner", "chain", "events"]
    assert told["format"] == "ironlaw-ledger/2" and told["learner"]["name"] == "Ada"
    assert list(told["events"][0]) == ["id", "learner", "epoch", "lab", "attempt", "kind", "payload", "time", "hash"]
    assert (told["chain"]["events"], told["chain"]["head"]) == (3, told["events"][-1]["hash"])


def plain(told):
    """As an older version exported it: without a chain."""
    events = [{name: value for name, value in event.items() if name != "hash"} for event in told["events"]]
    return {"format": "ironlaw-ledger/1", **{name: told[name] for name in ("exported", "learner")}, "events": events}


WRONG = [
    ((), None, "not a JSON object"),
    ((), [], "not a JSON object"),
    (("format",), "ironlaw-ledger/3", "upgrade"),
    (("format",), ..., "no 'format'"),
    (("exported",), "yesterday", "'yesterday'"),
    (("learner",), "Ada", "learner is 'Ada'; expected an object"),
    (("learner", "id"), "Ada", "UUID"),
    (("learner", "name"), 3, "name is 3"),
    (("events",), {}, "not a list"),
    (("events", 1), "x", "event 2 is not a JSON object"),
    (("events", 1, "id"), "7", "event 2: id is '7'"),
    (("events", 1, "id"), "7E57AB1E-0000-4000-8000-000000000000", "lower case"),
    (("events", 1, "learner"), None, "learner is None"),
    (("events", 1, "epoch"), 0, "epoch is 0"),
    (("events", 1, "epoch"), "1", "epoch is '1'"),
    (("events", 1, "lab"), 5, "lab is 5"),
    (("events", 2, "lab"), 0, "lab is 0"),
    (("events", 1, "attempt"), -1, "attempt is -1"),
    (("events", 1, "kind"), "", "kind is ''"),
    (("events", 1, "kind"), [], "kind"),
    (("events", 1, "payload"), "x", "object"),
    (("events", 1, "payload"), {"x": float("nan")}, "JSON"),
    (("events", 0, "payload", "confidence"), 9, "confidence is 9"),
    (("events", 0, "payload", "question"), ..., "question"),
    (("events", 1, "time"), 12, "ISO 8601"),
    (("events", 1, "time"), "2026-01-01T00:00:00", "offset"),
    (("events", 1, "time"), "0001-01-01T00:00:00+23:00", "ISO 8601"),
    (("events", 1, "time"), ..., "no 'time'"),
]


def test_a_wrong_export_is_refused_whole(ledger, told):
    for where, value, words in WRONG:
        with pytest.raises(BadExport, match=words):
            ledger.import_(changed(plain(told), where, value))
        assert ledger.history() == [], where


EDITS = [
    (("events", 0, "payload", "correct"), True, r"event 1 \(prediction, .* was changed"),
    (("events", 0, "time"), "2026-01-01T00:00:00Z", "event 1 .* was changed"),
    (("events", 1, "payload", "batch"), 5, "event 2 .* was changed"),
    (("events", 1, "hash"), ..., "event 2 .* was changed"),
    (("events", 1, "more"), 1, "event 2 .* was changed"),
    (("events", 1), ..., "event 2 .* an earlier one was removed"),
    (("events", 2), ..., "2 events of 3"),
    (("learner", "id"), str(uuid4()), "event 1 .* was changed"),
    (("chain",), ..., "chain is None"),
    (("chain", "head"), "x", "export again"),
    (("chain", "events"), "3", "events is '3'"),
]


def test_an_export_that_was_edited_is_refused_whole(ledger, told):
    for where, value, words in EDITS:
        with pytest.raises(BadExport, match=words):
            ledger.import_(changed(told, where, value))
        assert ledger.history() == [], where
    assert ledger.import_(told) == 3


def test_what_a_newer_version_adds_is_kept_and_ignored(ledger, told, place):
    """Unknown kinds, unknown fields of payloads and of events; but unknown parts of the file are not events."""
    told = plain(told)
    told["events"][1]["payload"]["later"] = {"x": [1]}
    told["events"][1]["device"] = "tablet"
    told["events"].append({**told["events"][1], "id": str(uuid4()), "kind": "pondered", "payload": {"depth": "deep"}, "lab": ""})
    assert ledger.import_({**told, "comment": "hand-in"}) == 4
    assert [event.kind for event in ledger.events()] == ["prediction", "design", "named", "pondered"]
    assert ledger.design(LAB) == {"batch": 4, "later": {"x": [1]}}
    assert plain(ledger.export())["events"] == told["events"]
    with open_ledger(place()) as second:
        assert second.import_(ledger.export()) == 4
        assert second.history() == ledger.history()
        assert second.history()[1].extra == {"device": "tablet"}
    with pytest.raises(IronlawError, match="pondered"):
        ledger.append(LAB, "pondered", {})  # here it would be a typing error


def test_epochs_and_attempts_leave_room_for_the_next(ledger, told, place):
    """An import may be at the limit; a reset and another attempt still work, and what they write can be imported again."""
    told = plain(told)
    for event in told["events"]:
        event |= {"epoch": 1_000_000, "attempt": 1_000_000, "learner": ledger.learner}
    assert ledger.import_(told) == 3
    assert commit(ledger, attempt=1_000_001).epoch == 1_000_000
    assert ledger.reset().epoch == 1_000_001
    assert commit(ledger).epoch == 1_000_001
    with open_ledger(place()) as second:
        assert second.import_(ledger.export()) == 6
        assert second.reset().epoch > 1
    told["events"][0] |= {"epoch": 2_000_000, "id": str(uuid4())}
    with pytest.raises(BadExport, match="too large to be a learner"):
        ledger.import_(told)


def changed(told, where, value):
    """A copy with another value at that place, or without it."""
    if not where:
        return value
    wrong = copy.deepcopy(told)
    target = wrong
    for step in where[:-1]:
        target = target[step]
    if value is ...:
        del target[where[-1]]
    else:
        target[where[-1]] = value
    return wrong


def test_an_event_that_differs_is_refused_with_all_the_others(ledger, told):
    told = plain(told)
    ledger.import_({**told, "events": told["events"][:1]})
    wrong = copy.deepcopy(told)
    wrong["events"].reverse()
    wrong["events"][-1]["payload"]["choice"] = 0
    with pytest.raises(BadExport, match="differs"):
        ledger.import_(wrong)
    assert len(ledger.history()) == 1


def test_an_import_brings_no_second_prediction(ledger, told):
    told = plain(told)
    second = {**told["events"][0], "id": str(uuid4())}
    for events in ([*told["events"], second], [second, *told["events"]]):
        with pytest.raises(BadExport, match=f"second prediction for {LAB}, act1, attempt 1"):
            ledger.import_({**told, "events": events})
    assert ledger.history() == []
    assert ledger.import_(told) == 3
    with pytest.raises(BadExport, match="second prediction"):
        ledger.import_({**told, "events": [second]})


def test_times_are_kept_in_utc(ledger, told):
    told = plain(told)
    told["events"][0]["time"] = "2026-01-31T12:00:00+02:00"
    assert ledger.import_(told) == 3
    assert ledger.history()[0].time == "2026-01-31T10:00:00.000000Z"
    assert ledger.import_(told) == 0


def test_what_is_imported_counts_as_the_learner_s_own(ledger, told, place):
    mine = ledger.append(LAB, "opened", {})
    ledger.append(OTHER, "design", {"batch": 1})
    assert ledger.import_(told) == 3
    assert ledger.design(LAB) == {"batch": 4} and ledger.learner_name() == "Ada"
    with pytest.raises(AlreadyCommitted):
        commit(ledger)
    again = commit(ledger, attempt=2)
    assert again.learner == mine.learner != ledger.attempts(LAB, "act1")[0].learner
    with open_ledger(place()) as third:
        assert third.import_(ledger.export()) == 6
        assert third.designs() == ledger.designs()
    begun = ledger.reset()
    assert ledger.learner_name() == "Ada"
    assert begun.learner == mine.learner and ledger.prediction(LAB, "act1") is None and ledger.designs() == {}
    assert ledger.import_(told) == 0


def test_the_order_is_that_of_the_ledger_and_not_the_clock_s(ledger, told, monkeypatch):
    """One event from a day when the clock was five years ahead; those after it count all the same."""
    monkeypatch.setattr("ironlaw.ledger.ledger.now", lambda: "2031-06-01T00:00:00.000000Z")
    ledger.append(LAB, "design", {"batch": 1})
    ledger.append(LAB, "context", {"context": "cloud"})
    ledger.set_learner_name("Grace")
    monkeypatch.undo()
    ledger.append(LAB, "design", {"batch": 64})
    ledger.append(LAB, "context", {"context": "tiny"})
    ledger.set_learner_name("Emmy")
    assert {event.time[:4] for event in ledger.events()} > {"2031"}
    assert (ledger.design(LAB), ledger.track(), ledger.learner_name()) == ({"batch": 64}, "tiny", "Emmy")
    assert ledger.progress(LAB).last_event.payload == {"context": "tiny"}
    assert ledger.import_(told) == 3  # what comes last counts, whatever its date
    assert (ledger.design(LAB), ledger.learner_name()) == ({"batch": 4}, "Ada")


# --- versions ---


def test_the_revisions_are_those_of_the_folder():
    files = sorted(path.name for path in (opening.MIGRATIONS / "versions").glob("*.py"))
    assert [f"n{number}_" for number in opening.REVISIONS] == [name[:6] for name in files]


def test_the_tables_are_as_the_migrations_leave_them(ledger):
    from sqlalchemy import inspect

    with ledger.store.database.reading() as connection:
        for table in (sql_tables.events, sql_tables.learner, sql_tables.head):
            found = {column["name"]: (str(column["type"]), column["nullable"]) for column in inspect(connection).get_columns(table.name)}
            assert found == {column.name: (str(column.type), bool(column.nullable)) for column in table.columns}


def test_a_newer_ledger_is_left_alone(ledger, url):
    commit(ledger)
    ledger.close()
    raw(url, "UPDATE ironlaw_version SET version_num = '9999'")
    for _ in range(2):
        with pytest.raises(LedgerNewer, match=r"revision 9999.*pip install --upgrade ironlaw.*ironlaw ledger export"):
            open_ledger(url)
    assert raw(url, "SELECT version_num FROM ironlaw_version") == [("9999",)]
    assert raw(url, "SELECT count(*) FROM ironlaw_events") == [(1,)]


NEXT = """
from alembic import op
revision, down_revision = "0003", "0002"

def upgrade():
    op.execute("CREATE TABLE ironlaw_more (word TEXT)")
    op.execute("INSERT INTO ironlaw_more VALUES ('new')")
"""


@contextmanager
def next_version(folder, migration):
    """ironlaw as it may be one day, with another migration."""
    shutil.copytree(opening.MIGRATIONS, folder)
    (folder / "versions" / "n0003_more.py").write_text(migration)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "MIGRATIONS", folder)
        patch.setattr(opening, "REVISIONS", (*opening.REVISIONS, "0003"))
        patch.setattr(opening, "HEAD", "0003")
        yield


def test_an_older_ledger_is_brought_up_to_date(ledger, url, tmp_path):
    event = commit(ledger)
    ledger.close()
    with next_version(tmp_path / "100% new", NEXT):
        done = at_once(3, lambda _: open_ledger(url))
    assert [opened.events() for opened in done] == [[event]] * 3
    assert {opened.learner for opened in done} == {ledger.learner}
    for opened in done:
        opened.close()
    assert raw(url, "SELECT * FROM ironlaw_more") == [("new",)]
    if not url.startswith("postgresql"):
        copied = f"{url}.0002"
        assert raw(copied, "SELECT id FROM ironlaw_events") == [(event.id,)]
        assert raw(copied, "SELECT version_num FROM ironlaw_version") == [("0002",)]


def test_a_ledger_that_is_migrated_while_others_write_loses_nothing(ledger, url, tmp_path):
    """One of an older version goes on writing until the migration, and is then refused; what it was told is written is there."""
    written, refused, migrated = [], [], Flag()

    def write() -> None:
        while not refused:
            try:
                written.append(ledger.append("lab_01", "context", {"context": f"{len(written)}"}).id)
                if len(written) == 5:
                    migrated.set()
            except LedgerNewer as error:
                refused.append(str(error))

    writer = Thread(target=write)
    writer.start()
    try:
        assert migrated.wait(60)
        with next_version(tmp_path / "next", NEXT), open_ledger(url) as newer:
            writer.join(60)
            newer.append("lab_01", "context", {"context": "new"})
            events = newer.events()
    finally:
        refused.append("never refused")  # ends the writer in any case
        writer.join(60)
    assert [event.id for event in events][:-1] == written and len(written) >= 5
    assert "ironlaw labs" in refused[0] and "nothing is lost" in refused[0]
    assert ledger.events() == events  # it may still be read, and exported
    with pytest.raises(LedgerNewer):
        ledger.reset()


def test_a_migration_that_fails_changes_nothing(ledger, url, tmp_path):
    event = commit(ledger)
    ledger.close()
    with next_version(tmp_path / "bad", NEXT + "    op.execute('SELECT * FROM nowhere')\n"), pytest.raises(LedgerUnavailable):
        open_ledger(url)
    with open_ledger(url) as again:
        assert again.events() == [event]
    with pytest.raises((sqlite3.OperationalError, psycopg.errors.UndefinedTable)):
        raw(url, "SELECT * FROM ironlaw_more")
