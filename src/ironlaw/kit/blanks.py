"""A sentence with blanks: each blank is a question of its own (`kind = "blank"`), all answered together, with feedback for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.prose import html, inline
from ironlaw.kit.question_sheet import Question
from ironlaw.kit.reflect import answer
from ironlaw.ledger import Ledger
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece


def blanks(
    questions: Sequence[Question], ask: str, labels: Sequence[str], feedback: Mapping[str, Mapping[str, str]], ledger: Ledger, lab: str,
    on_answer: Callable[[], None],
) -> Piece:  # fmt: skip
    """`ask` is the sentence, `labels` the words before each blank; `feedback`: Markdown by question, then by option."""
    answers = ActCounter("answer")

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if answers.advanced(state):
            places = state.get("choice")
            if not isinstance(places, (list, tuple)) or len(places) != len(questions):
                raise BadValue(f"fill all {len(questions)} blanks, then answer")
            for question, place in zip(questions, places, strict=True):
                question.at(place)  # all are validated before the first is stored
            for question, place in zip(questions, places, strict=True):
                answer(question, ledger, lab, {"choice": place})
            on_answer()
        return {"answered": _view(questions, feedback, ledger, lab)}

    parts = [
        {"label": inline(label), "options": [{"label": option.label} for option in question.options]}
        for question, label in zip(questions, labels, strict=True)
    ]
    return Piece("reflect", {"id": questions[0].name, "question": inline(ask), "blanks": parts, "options": []}, compute)


def _view(questions: Sequence[Question], feedback: Mapping[str, Mapping[str, str]], ledger: Ledger, lab: str) -> dict[str, Any] | None:
    newest = [answers[-1] for question in questions if (answers := question.answers(ledger.answers(lab, question.name)))]
    if len(newest) < len(questions):
        return None
    texts = [feedback[question.name][str(event.payload["choice"])] for question, event in zip(questions, newest, strict=True)]
    return {
        "choice": [question.place(str(event.payload["choice"])) for question, event in zip(questions, newest, strict=True)],
        "right": all(bool(event.payload["correct"]) for event in newest),
        "feedback": html("\n\n".join(texts)),
        "time": newest[-1].time,
    }
