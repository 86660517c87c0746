"""The reflection: every answer is an event, feedback for each option."""

import pytest
from as_browser import send

from ironlaw.kit.reflect import reflect


@pytest.fixture
def made(lab, ledger):
    calls = []
    question = lab.question("act1_reflection")
    feedback = {option.id: f"because {option.id}" for option in question.options}
    return reflect(question, "Why?", feedback, ledger, "_template", lambda: calls.append(1)), calls


def test_feedback_comes_with_the_answer_only(made):
    piece, calls = made
    assert piece.view["answered"] is None and "because" not in str(piece.spec)
    send(piece, choice=1)
    assert piece.view["answered"] is None and not calls


def test_a_wrong_answer_names_its_misconception(made, ledger):
    piece, calls = made
    view = send(piece, choice=1, answer=1)
    assert view["answered"]["right"] is False and "because clock" in view["answered"]["feedback"]
    said = ledger.answers("_template", "act1_reflection")[0].payload
    assert said == {"question": "act1_reflection", "choice": "clock", "correct": False, "misconception": "arithmetic_always_binds"}
    assert calls == [1]


def test_answering_again_adds_an_event_and_the_right_one_is_explained_too(made, ledger):
    piece, _ = made
    send(piece, choice=1, answer=1)
    view = send(piece, choice=0, answer=2)
    assert view["answered"]["right"] and "because " in view["answered"]["feedback"]
    events = ledger.answers("_template", "act1_reflection")
    assert [(event.attempt, event.payload["misconception"]) for event in events] == [(1, "arithmetic_always_binds"), (2, None)]
