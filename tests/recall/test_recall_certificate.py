"""A certificate follows from its ledger: recounted by hand, held to the schema; every changed figure is named, and so is another ledger."""

import copy
import json

import pytest
from described import check

from ironlaw.errors import BadExport, EditedExport
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.recall.certificate_check import differences
from ironlaw.recall.certificate_facts import facts, issue

ME, OTHER = "01234567-89ab-4def-8123-456789abcdef", "11234567-89ab-4def-8123-456789abcdef"
TIMING = {"wall_s": 1.2e-5, "low_s": 1e-5, "high_s": 2e-5, "samples": 100, "sync_s": 1e-5, "sync_low_s": 1e-5, "sync_high_s": 1e-5}
RUN = {
    "experiment": "tiny_ops", "rows": [{"kind": "launch", "op": "add", **TIMING}], "machine": {"cpu": "A chip"},
    "software": {}, "noise": {},
}  # fmt: skip
LAB, NEXT = "lab_01_magnitude", "lab_07_fusion"


def new(learner=ME):
    return Ledger(MemoryStore(learner, "2026-01-05T12:00:00.000000Z"), learner)


@pytest.fixture
def ledger():
    """Two labs, one of them saved, and a reset after which a question was answered again."""
    mine = new()
    mine.set_learner_name("Ada")
    mine.commit_prediction(LAB, "act1", "e4", 1e4, 5, False)
    mine.commit_prediction(LAB, "act1", "e6", 1e6, 5, True, 2)
    mine.append(LAB, "reflection", {"question": "act1_reflection", "choice": "stacks", "correct": True})
    mine.append(LAB, "design", {"context": "cloud", "batch": 8})
    mine.commit_prediction(NEXT, "act1", "p5", 5.0, 4, True)
    mine.append(NEXT, "measured", RUN)
    mine.append(NEXT, "measured", RUN)
    mine.reset()
    mine.commit_prediction(LAB, "act1", "e6", 1e6, 5, True)
    return mine


@pytest.fixture
def export(ledger):
    return ledger.export()


def test_its_facts_are_those_of_the_events(export):
    issued = issue(export, "0.1")
    check(issued)
    assert issued["learner"] == {"id": ME, "name": "Ada"} and issued["resets"] == 1
    assert issued["chain"] == export["chain"] and issued["chain"]["events"] == 10
    first, second = issued["labs"]
    assert [(p["choice"], p["correct"]) for p in first["predictions"]] == [("e4", False)]  # neither the second attempt nor after the reset
    assert first["design"] == {"context": "cloud", "batch": 8} and first["saved"] and first["reflections"] == {"answers": 1, "right": 1}
    assert second["saved"] is None and second["design"] is None
    curve = issued["calibration"]
    assert (curve["predictions"], curve["right"]) == (2, 1)
    assert curve["brier"]["score"] == pytest.approx((0.95**2 + 0.2**2) / 2)
    (run,) = issued["measured"]
    assert (run["runs"], run["machine"], run["rows"]) == (2, "A chip", [{"name": "add", "value": 1.2e-5, "unit": "s"}])


def test_it_follows_also_from_a_later_state_of_its_ledger_and_after_a_trip_through_json(ledger, export):
    issued = json.loads(json.dumps(issue(export, "0.1")))
    assert differences(issued, export) == []
    ledger.commit_prediction(NEXT, "act2", "x", 1.0, 1, False)
    assert differences(issued, ledger.export()) == []
    assert facts(ledger.export())["chain"]["events"] == 11


def leaves(node, path=()):
    if isinstance(node, (dict, list)):
        for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(inner, (*path, key))
    else:
        yield path, node


def test_every_single_figure_that_is_changed_is_named(export):
    issued = issue(export, "0.1")
    tried = 0
    for path, value in leaves({name: issued[name] for name in issued if name not in ("schema", "ironlaw", "issued")}):
        if path == ("chain", "events"):
            continue
        forged = copy.deepcopy(issued)
        node = forged
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = not value if isinstance(value, bool) else value + 1 if isinstance(value, (int, float)) else "other"
        (fault,) = differences(forged, export)
        assert all(str(key) in fault for key in path if isinstance(key, str)), fault
        tried += 1
    assert tried > 60


def test_what_is_added_or_left_out_is_named(export):
    issued = issue(export, "0.1")
    assert differences({**issued, "grade": "A"}, export) == ["grade: nothing in the ledger says so"]
    assert differences({name: value for name, value in issued.items() if name != "resets"}, export) == [
        "resets: missing from the certificate"
    ]
    assert "labs: the certificate has 1 entries, the ledger 2" in differences({**issued, "labs": issued["labs"][:1]}, export)
    fewer = copy.deepcopy(issued)
    fewer["chain"]["events"] -= 1
    assert any(fault.startswith("chain.head") for fault in differences(fewer, export))


def test_another_ledger_an_older_copy_and_a_rewritten_one_are_noticed(ledger, export):
    issued = issue(export, "0.1")
    assert "older copy, or another ledger" in differences(issued, new().export())[0]
    other = new(OTHER)
    for _ in range(10):
        other.append(LAB, "opened", {})
    assert any(fault.startswith("learner.id") for fault in differences(issued, other.export()))
    rewritten = new()
    for event in ledger.history():
        payload = {**event.payload, "correct": True} if event.kind == "prediction" else event.payload
        with rewritten.store.writing() as rows:
            rows.append([type(event)(**{**vars_of(event), "payload": payload})])
    faults = differences(issued, rewritten.export())
    assert any(fault.startswith("chain.head") for fault in faults) and any("correct" in fault for fault in faults)
    edited = copy.deepcopy(export)
    edited["events"][1]["payload"]["correct"] = True
    with pytest.raises(EditedExport, match="event 2"):
        differences(issued, edited)


def vars_of(event):
    return {name: getattr(event, name) for name in ("id", "learner", "epoch", "lab", "attempt", "kind", "payload", "time", "extra")}


def test_what_is_no_certificate_or_has_no_chain_is_refused(export):
    for broken in ([], {"schema": "ironlaw-certificate/2"}, {"schema": "ironlaw-certificate/1", "chain": {"events": -1}}):
        with pytest.raises(BadExport, match="certificate"):
            differences(broken, export)
    unchained = {**export, "format": "ironlaw-ledger/1"}
    with pytest.raises(BadExport, match="no chain"):
        facts(unchained)


def test_an_empty_ledger_certifies_nothing():
    issued = issue(new().export(), "0.1")
    check(issued)
    assert issued["labs"] == [] and issued["calibration"]["brier"] is None and issued["first"] is None
    assert differences(issued, new().export()) == []
