"""What the ledger holds of the review. Events are only added: an answer that was taken back stays, and an `undo` names it.

Times come from the caller (`at`), so that a test, a browser and a terminal each bring their own clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ironlaw.errors import BadValue
from ironlaw.ledger import Event, Ledger
from ironlaw.recall.grade import Grade
from ironlaw.recall.variants import Variant

REVIEW = "review"  # the ledger's name for it, beside the labs' slugs


@dataclass(frozen=True, slots=True)
class Review:
    """One answer to one card."""

    id: str
    card: str
    seed: int
    answer: str
    confidence: int
    correct: bool
    misconception: str | None
    at: datetime


def reviews(events: Iterable[Event]) -> list[Review]:
    """The answers that count, oldest first: those that no undo names."""
    events = list(events)
    undone = {str(event.payload["event"]) for event in events if event.kind == "undo"}
    found = [_review(event) for event in events if event.kind == "reviewed" and event.id not in undone]
    return sorted(found, key=lambda review: review.at)


def asked(events: Iterable[Event], card: str) -> int:
    """How often a card was answered, answers that were taken back included: the seed of its next variant."""
    return sum(event.kind == "reviewed" and event.payload["card"] == card for event in events)


def answer(ledger: Ledger, variant: Variant, typed: str, confidence: int, grade: Grade, at: datetime) -> Review:
    """Keep an answer. It is on the disk when this returns."""
    said = {
        "card": variant.template.id, "seed": variant.seed, "answer": typed, "confidence": confidence, "correct": grade.correct,
        "misconception": grade.misconception, "at": _utc(at),
    }  # fmt: skip
    return _review(ledger.append(REVIEW, "reviewed", said))


def undo(ledger: Ledger) -> Review | None:
    """Take the last answer back; None where there is none. Once more takes the one before."""
    standing = reviews(ledger.events(REVIEW))
    if not standing:
        return None
    ledger.append(REVIEW, "undo", {"event": standing[-1].id})
    return standing[-1]


def tick(ledger: Ledger, statement: str, ticked: bool) -> Event:
    return ledger.append(REVIEW, "ticked", {"statement": statement, "ticked": ticked})


def ticks(events: Iterable[Event]) -> dict[str, bool]:
    """The newest claim about each statement."""
    return {str(event.payload["statement"]): bool(event.payload["ticked"]) for event in events if event.kind == "ticked"}


def write(ledger: Ledger, prompt: str, text: str) -> Event:
    if not text.strip():
        raise BadValue("there is nothing to keep yet; write a line first")
    return ledger.append(REVIEW, "written", {"prompt": prompt, "text": text})


def written(events: Iterable[Event]) -> dict[str, str]:
    """The newest text for each prompt; older ones stay in the ledger and in every export."""
    return {str(event.payload["prompt"]): str(event.payload["text"]) for event in events if event.kind == "written"}


def _review(event: Event) -> Review:
    p = event.payload
    at = datetime.fromisoformat(p["at"]).astimezone(UTC)
    return Review(event.id, p["card"], int(p["seed"]), str(p["answer"]), p["confidence"], p["correct"], p["misconception"], at)


def _utc(at: datetime) -> str:
    if at.tzinfo is None:
        raise BadValue(f"{at!r} has no time zone; hand in a clock that has one, such as UTC")
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
