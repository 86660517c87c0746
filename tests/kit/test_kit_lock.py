"""The lock: the ledger first, then the reveal; one prediction per attempt."""

from dataclasses import replace

import pytest
from as_browser import send

from ironlaw.errors import LedgerUnavailable
from ironlaw.kit.lock import lock
from ironlaw.kit.missing_ledger import AbsentLedger


@pytest.fixture
def made(question, ledger):
    calls = []
    return lock(
        question, "Which?", "Given **this**.", ledger, "_template", lambda: calls.append(ledger.prediction("_template", "act1"))
    ), calls


def test_nothing_is_committed_by_looking_or_choosing(made, ledger):
    piece, calls = made
    assert piece.view["committed"] is None and piece.view["attempts"] == 0
    send(piece, choice=1, confidence=3)
    assert ledger.attempts("_template", "act1") == [] and not calls
    assert ">10²<" in piece.spec["options"][1]["label"] and "10 to the power of 2" in piece.spec["options"][1]["label"]  # seen, heard
    assert "<strong>this</strong>" in piece.spec["premises"]


def test_a_commit_is_in_the_ledger_before_anything_is_told(made, ledger):
    piece, calls = made
    view = send(piece, choice=0, confidence=4, commit=1)
    assert calls[0] is not None and calls[0].payload["choice"] == "e1"  # the callback found it there
    assert view["committed"]["choice"] == 0 and view["committed"]["confidence"] == 4 and view["attempts"] == 1
    event = ledger.prediction("_template", "act1")
    assert event.payload == {"question": "act1", "choice": "e1", "value": 10.0, "confidence": 4, "correct": False}


def test_what_the_browser_gets_holds_no_key(made):
    piece, _ = made
    assert "right" not in str(piece.spec) + str(piece.view) and "misconception" not in str(piece.spec)


def test_a_second_commit_without_trying_again_changes_nothing(made, ledger):
    piece, _ = made
    send(piece, choice=0, confidence=4, commit=1)
    view = send(piece, choice=2, confidence=5, commit=2)
    assert view["committed"]["choice"] == 0 and "Another window" in view["error"]
    assert len(ledger.attempts("_template", "act1")) == 1


def test_trying_again_is_a_second_attempt(made, ledger):
    piece, calls = made
    send(piece, choice=0, confidence=4, commit=1)
    view = send(piece, choice=1, confidence=2, commit=2, again=1)
    assert view["committed"] == {"choice": 1, "confidence": 2, "time": view["committed"]["time"], "attempt": 2} and view["attempts"] == 2
    assert [event.payload["choice"] for event in ledger.attempts("_template", "act1")] == ["e1", "e2"]
    assert len(calls) == 2


def test_a_reload_restores_from_the_ledger(made, question, ledger):
    send(made[0], choice=1, confidence=5, commit=1)
    again = lock(question, "Which?", "", ledger, "_template", lambda: None)
    assert again.view["committed"]["choice"] == 1 and again.view["committed"]["time"]


def test_two_windows_meet_at_the_ledger(made, question, ledger):
    other = lock(question, "Which?", "", ledger, "_template", lambda: None)
    send(made[0], choice=1, confidence=5, commit=1)
    view = send(other, choice=3, confidence=1, commit=1)
    assert view["committed"]["choice"] == 1 and "that one stands" in view["error"]


@pytest.mark.parametrize(
    "bad",
    [{"choice": 7, "confidence": 3}, {"choice": None, "confidence": 3}, {"choice": 1, "confidence": 0}, {"choice": 1, "confidence": True}],
)
def test_what_no_browser_of_ours_sends_is_refused(made, ledger, bad):
    view = send(made[0], **bad, commit=1)
    assert view["error"]["message"] and ledger.attempts("_template", "act1") == []


def test_a_failing_ledger_reveals_nothing(question, ledger, monkeypatch):
    calls = []
    piece = lock(question, "Which?", "", ledger, "_template", lambda: calls.append(1))

    def full(*_, **__):
        raise LedgerUnavailable("the disk is full; make room, then commit again")

    monkeypatch.setattr(ledger, "commit_prediction", full)
    view = send(piece, choice=1, confidence=3, commit=1)
    assert "disk is full" in view["error"]["message"] and not view.get("committed") and not calls


def test_without_a_ledger_nothing_can_be_committed(question):
    piece = lock(question, "Which?", "", AbsentLedger("no permission; set IRONLAW_HOME"), "_template", lambda: None)
    assert "set IRONLAW_HOME" in send(piece, choice=1, confidence=3, commit=1)["error"]["message"]


def test_a_decision_is_sealed_like_a_prediction_and_says_what_it_is(question, ledger):
    assert "words" not in lock(question, "Which?", "", ledger, "_template", lambda: None).spec
    piece = lock(replace(question, kind="decision", name="spend"), "Which?", "", ledger, "_template", lambda: None)
    assert piece.spec["words"] == {"commit": "Commit my choice", "mine": "your choice"} and piece.spec["confidence"] is True
    send(piece, choice=1, confidence=2, commit=1)
    assert ledger.prediction("_template", "spend").payload["choice"] == "e2"
