"""What the wrong beliefs that a learner was offered came to: chosen or not, how surely, and whether they were given up since.

A belief counts once per learner. It is given up where the learner later answers a question or a card rightly that offers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from sys import intern

from ironlaw.classroom.sheets import Item, sheet
from ironlaw.ledger import Event
from ironlaw.recall.card_templates import templates
from ironlaw.recall.record import Review
from ironlaw.recall.schedule import SURE

ANSWERS = ("prediction", "reflection", "challenge")  # a blank of a sentence is kept as a reflection


@dataclass(slots=True)
class Held:
    """`where`: the questions and cards at which it was chosen; none, where it was only offered."""

    sure: bool = False
    given_up: bool = False
    where: tuple[str, ...] = ()


def held(events: Sequence[Event], reviewed: Sequence[Review]) -> dict[str, Held]:
    """By belief, in the order in which they were met."""
    met: dict[str, Held] = {}
    for offered, chosen, sure, right, where in _history(events, {review.id: review for review in reviewed}):
        for name in offered:
            belief = met.setdefault(name, Held())
            if right and belief.where:
                belief.given_up = True
        if chosen:
            belief = met.setdefault(intern(chosen), Held())
            belief.given_up = False
            belief.sure = belief.sure or sure
            if where not in belief.where:
                belief.where = (*belief.where, intern(where))
    return met


def _history(events: Sequence[Event], cards: dict[str, Review]) -> Iterator[tuple[tuple[str, ...], str, bool, bool, str]]:
    """In order: the beliefs that were offered, the one that was chosen, whether with confidence, whether right, and where."""
    for event in events:
        if event.kind in ANSWERS and event.question:
            item = sheet(event.lab).items.get(event.question)
            right, payload = bool(event.payload["correct"]), event.payload
            choice = item.choices.get(str(payload.get("choice"))) if item else None
            stored = payload.get("misconception")  # as the lab had it when it was answered
            chosen = "" if right else str(stored or (choice.misconception if choice else ""))
            sure = isinstance(payload.get("confidence"), int) and payload["confidence"] >= SURE
            yield _offered(event.lab, event.question) if item else (), chosen, sure, right, f"{event.lab}/{event.question}"
        elif event.id in cards:  # an answer that was taken back is not among them
            review = cards[event.id]
            template = templates().get(review.card)
            chosen = "" if review.correct else review.misconception or ""
            offered = tuple(map(intern, template.misconceptions)) if template else ()
            yield offered, chosen, review.confidence >= SURE, review.correct, f"review/{review.card}"


@cache
def _offered(lab: str, question: str) -> tuple[str, ...]:
    """The beliefs behind a question's wrong options; only questions that a lab here has are asked for."""
    item: Item = sheet(lab).items[question]
    return tuple({intern(c.misconception): None for name, c in item.choices.items() if c.misconception and name != item.right})
