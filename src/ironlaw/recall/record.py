"""The review's events in the ledger. Events are only ever added: an answer that was taken back stays, and an `undo` names it.

Times come from the caller (`at`): tests, browser and terminal each bring their own clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ironlaw.errors import BadValue
from ironlaw.ledger import Event, Ledger
from ironlaw.recall.card_variants import Variant
from ironlaw.recall.grade import Grade

REVIEW = "review"  # its name in the ledger, next to the labs' slugs


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
    place: int = field(default=0, compare=False)  # among the events: what was answered later, whatever the clock said


def reviews(events: Iterable[Event], now: datetime) -> list[Review]:
    """The answers that count, oldest first. The schedule needs days, so these are in the order of their times; an answer from a time
    when the clock was ahead of `now` gets the time of the next answer in the ledger."""
    return sorted(_none_ahead(answers(events), now), key=lambda review: review.at)


def answers(events: Iterable[Event]) -> list[Review]:
    """The answers that no undo names, in the order of the ledger."""
    events = list(events)
    undone = {str(event.payload["event"]) for event in events if event.kind == "undo"}
    return [_review(event, place) for place, event in enumerate(events) if event.kind == "reviewed" and event.id not in undone]


def _none_ahead(reviews: list[Review], now: datetime) -> list[Review]:
    """Dates no later than now: without this, one answer dated 2031 would keep its card away until then."""
    if all(review.at <= now for review in reviews):
        return reviews
    plausible = list(reviews)
    latest = max((review.at for review in reviews if review.at <= now), default=now)
    following = latest
    for index in reversed(range(len(reviews))):
        if reviews[index].at <= now:
            following = reviews[index].at
        else:
            plausible[index] = replace(reviews[index], at=following)
    return plausible


def times_answered(events: Iterable[Event], card: str) -> int:
    """Including answers that were taken back: the seed of the card's next variant."""
    return sum(event.kind == "reviewed" and event.payload["card"] == card for event in events)


def save_answer(ledger: Ledger, variant: Variant, typed: str, confidence: int, grade: Grade, at: datetime) -> Review:
    """The answer is on disk when this returns."""
    payload = {
        "card": variant.template.id, "seed": variant.seed, "answer": typed, "confidence": confidence, "correct": grade.correct,
        "misconception": grade.misconception, "at": _utc(at),
    }  # fmt: skip
    return _review(ledger.append(REVIEW, "reviewed", payload))


def undo(ledger: Ledger) -> Review | None:
    """Take the last answer back, and with the next call the one before; None where there is none left."""
    standing = answers(ledger.events(REVIEW))
    if not standing:
        return None
    ledger.append(REVIEW, "undo", {"event": standing[-1].id})
    return standing[-1]


def tick(ledger: Ledger, statement: str, ticked: bool) -> Event:
    return ledger.append(REVIEW, "ticked", {"statement": statement, "ticked": ticked})


def ticks(events: Iterable[Event]) -> dict[str, bool]:
    """The newest claim about each statement."""
    return {str(event.payload["statement"]): bool(event.payload["ticked"]) for event in events if event.kind == "ticked"}


def save_text(ledger: Ledger, prompt: str, text: str) -> Event:
    if not text.strip():
        raise BadValue("there is nothing to save yet; write a line first")
    return ledger.append(REVIEW, "written", {"prompt": prompt, "text": text})


def texts(events: Iterable[Event]) -> dict[str, str]:
    """The newest text for each prompt; older ones stay in the ledger and in every export."""
    return {str(event.payload["prompt"]): str(event.payload["text"]) for event in events if event.kind == "written"}


def _review(event: Event, place: int = 0) -> Review:
    p = event.payload
    at = datetime.fromisoformat(p["at"]).astimezone(UTC)
    return Review(event.id, p["card"], int(p["seed"]), str(p["answer"]), p["confidence"], p["correct"], p["misconception"], at, place)


def _utc(at: datetime) -> str:
    if at.tzinfo is None:
        raise BadValue(f"{at!r} has no time zone; use a clock with one, such as UTC")
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
