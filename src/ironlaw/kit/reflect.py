"""The reflection: four options, feedback for each; a wrong one is tied to a named misconception. Every answer is an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.kit.prose import html, inline
from ironlaw.kit.question_sheet import Question
from ironlaw.ledger import Event, Ledger
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece


def reflect(question: Question, ask: str, feedback: Mapping[str, str], ledger: Ledger, lab: str, on_answer: Callable[[], None]) -> Piece:
    """`feedback`: Markdown by option id, for the right one too: it explains the mechanism."""
    answers = ActCounter("answer")

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if answers.advanced(state):
            answer(question, ledger, lab, state)
            on_answer()
        events = question.answers(ledger.answers(lab, question.name))
        return {"answered": _view(question, events[-1], feedback) if events else None}

    spec = {"id": question.name, "question": inline(ask), "options": [{"label": inline(option.label)} for option in question.options]}
    return Piece("reflect", spec, compute)


def answer(question: Question, ledger: Ledger, lab: str, state: Mapping[str, Any]) -> Event:
    _, option = question.at(state.get("choice"))
    right = question.right.id == option.id
    payload = {"question": question.name, "choice": option.id, "correct": right, "misconception": None if right else option.misconception}
    return ledger.append(lab, "reflection", payload, attempt=len(ledger.answers(lab, question.name)) + 1)


def _view(question: Question, event: Event, feedback: Mapping[str, str]) -> dict[str, Any]:
    option = str(event.payload["choice"])
    return {
        "choice": question.place(option),
        "right": bool(event.payload["correct"]),
        "feedback": html(feedback[option]),
        "time": event.time,
    }
