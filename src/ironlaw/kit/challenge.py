"""A number to commit before the engine's is shown: a scaling challenge. Entered once, kept as a `challenge` event."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.prose import html, inline
from ironlaw.kit.question_sheet import Question
from ironlaw.ledger import Event, Ledger
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece


def challenge(
    question: Question, ask: str, feedback: Callable[[float, bool], str], ledger: Ledger, lab: str, on_commit: Callable[[], None]
) -> Piece:
    """`feedback(value, right)` is Markdown; it is called only once a number is committed."""
    commits = ActCounter("commit")

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if commits.advanced(state) and entry(ledger, lab, question.name) is None:
            commit(question, ledger, lab, state.get("value"))
            on_commit()
        event = entry(ledger, lab, question.name)
        if event is None:
            return {"committed": None}
        value, right = float(event.payload["value"]), bool(event.payload["correct"])
        return {"committed": {"value": value}, "right": right, "feedback": html(feedback(value, right))}

    spec = {"id": question.name, "label": inline(ask), "unit": question.unit, "min": 0, "words": {"commit": "Commit my number"}}
    return Piece("number", spec, compute)


def commit(question: Question, ledger: Ledger, lab: str, value: Any) -> Event:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise BadValue(f"{value!r} can't be the answer; enter a number above 0")
    payload = {"question": question.name, "value": float(value), "correct": question.near(float(value))}
    return ledger.append(lab, "challenge", payload)


def entry(ledger: Ledger, lab: str, question: str) -> Event | None:
    """The committed number; the first one counts."""
    return next((event for event in ledger.events(lab, "challenge") if event.question == question), None)
