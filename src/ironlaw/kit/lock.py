"""The prediction lock: four options, a confidence, and one deliberate commit.

The ledger has the prediction before anything is shown. What the browser counts up is `commit`; `again` rises with it where
it begins a new attempt. A reload finds what was committed in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.errors import AlreadyCommitted, BadValue
from ironlaw.kit.prose import html, inline
from ironlaw.kit.question_sheet import Question
from ironlaw.kit.sealed import Part, sealed_part
from ironlaw.ledger import Event, Ledger
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece


def lock(
    question: Question, ask: str, premises: str, ledger: Ledger, lab: str, on_commit: Callable[[], None], to: str = "",
    part: Part | None = None, assumptions: str = "",
) -> Piece:  # fmt: skip
    """`ask`, `premises` and `assumptions` are Markdown, the last folded;
    `on_commit` is called once the ledger holds a prediction; `to` is the place to go to then;
    `part` is asked for beside the choice and sealed with it."""
    commits = ActCounter("commit")

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        error = None
        if commits.advanced(state):
            error = commit(question, ledger, lab, state, part)
            if error is None or error.startswith(ELSEWHERE):
                on_commit()
        attempts = question.answers(ledger.attempts(lab, question.name))
        return {"committed": sealed(question, attempts[-1]) if attempts else None, "attempts": len(attempts), "error": error}

    spec: dict[str, Any] = {
        "id": question.name,
        "question": inline(ask),
        "premises": html(premises),
        "assumptions": html(assumptions) if assumptions else "",
        "options": [{"label": inline(option.label)} for option in question.options],
        "confidence": True,
        "to": to,
    }
    if part is not None:
        spec[part.name] = part.spec()
    if question.kind == "decision":
        spec["words"] = {"commit": "Commit my choice", "mine": "your choice"}
    return Piece("lock", spec, compute)


ELSEWHERE = "Another window"


def commit(question: Question, ledger: Ledger, lab: str, state: Mapping[str, Any], part: Part | None = None) -> str | None:
    """Write one attempt; returns the message for the learner if that was not possible."""
    _, option = question.at(state.get("choice"))
    confidence = state.get("confidence")
    if isinstance(confidence, bool) or confidence not in (1, 2, 3, 4, 5):
        raise BadValue("say how sure you are, from 1 to 5, then commit")
    # a first commit never becomes a second attempt by itself: that takes the learner's "try again", or attempts that no option explains
    attempts = ledger.attempts(lab, question.name)
    again = ActCounter("again").advanced(state) or (attempts and not question.answers(attempts))
    attempt = attempts[-1].attempt + 1 if again and attempts else 1
    right = question.right.id == option.id
    try:
        ledger.commit_prediction(lab, question.name, option.id, option.value, confidence, right, attempt, sealed_part(part, state))
    except AlreadyCommitted:
        return f"{ELSEWHERE} had already committed an answer, and that one stands."
    return None


def sealed(question: Question, event: Event) -> dict[str, Any]:
    """What the lock shows of a committed prediction."""
    place = question.place(str(event.payload["choice"]))
    more: dict[str, Any] = {name: event.payload[name] for name in ("estimate", "sketch") if name in event.payload}
    return {"choice": place, "confidence": event.payload["confidence"], "time": event.time, "attempt": event.attempt, **more}
