"""What the wrong beliefs that a learner was offered came to: chosen or not, how surely, and whether they were given up since.

A belief counts once per learner. It is given up where the learner later answers a question or a card rightly that offers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from sys import intern
from typing import NamedTuple

from ironlaw.classroom.sheets import Item, sheet
from ironlaw.ledger import Event
from ironlaw.recall.card_templates import templates
from ironlaw.recall.record import Review
from ironlaw.recall.schedule import SURE

ANSWERS = ("prediction", "reflection", "challenge")  # a blank of a sentence is kept as a reflection


class Given(NamedTuple):
    """An answer to a lab's question, with its position among the events."""

    place: int
    event: Event
    question: str


class Held(NamedTuple):
    """A belief that was chosen. `where`: the questions and cards at which it was."""

    sure: bool
    given_up: bool
    where: tuple[str, ...]


def held(given: Sequence[Given], reviewed: Sequence[Review]) -> tuple[tuple[str, ...], dict[str, Held]]:
    """The beliefs that were met, in that order, and what became of those that were chosen."""
    met: dict[str, None] = {}
    chosen: dict[str, Held] = {}
    for offered, name, sure, right, where in _history(given, reviewed):
        met.update(offered)
        if right and chosen:
            for belief in chosen.keys() & offered.keys():
                chosen[belief] = chosen[belief]._replace(given_up=True)
        if name:
            met[intern(name)] = None
            before = chosen.get(name, Held(False, False, ()))
            places = before.where if where in before.where else (*before.where, intern(where))
            chosen[intern(name)] = Held(before.sure or sure, False, places)
    return tuple(met), chosen


def _history(given: Sequence[Given], reviewed: Sequence[Review]) -> Iterator[tuple[dict[str, None], str, bool, bool, str]]:
    """In order: the beliefs that were offered, the one that was chosen, whether with confidence, whether right, and where. An answer to a
    card that was taken back is not among them."""
    cards = iter(reviewed)
    card = next(cards, None)
    for place, event, question in given:
        while card is not None and card.place < place:
            yield _reviewed(card)
            card = next(cards, None)
        item, payload = sheet(event.lab).items.get(question), event.payload
        right = bool(payload["correct"])
        choice = item.choices.get(str(payload.get("choice"))) if item and not right else None
        stored = payload.get("misconception")  # as the lab had it when it was answered
        chosen = "" if right else str(stored or (choice.misconception if choice else ""))
        sure = isinstance(payload.get("confidence"), int) and payload["confidence"] >= SURE
        yield _offered(event.lab, question) if item else {}, chosen, sure, right, f"{event.lab}/{question}" if chosen else ""
    while card is not None:
        yield _reviewed(card)
        card = next(cards, None)


def _reviewed(review: Review) -> tuple[dict[str, None], str, bool, bool, str]:
    chosen = "" if review.correct else review.misconception or ""
    return _on_card(review.card), chosen, review.confidence >= SURE, review.correct, f"review/{review.card}"


@cache
def _cards() -> dict[str, dict[str, None]]:
    """Card -> the beliefs behind its wrong answers."""
    return {name: dict.fromkeys(map(intern, template.misconceptions)) for name, template in templates().items()}


def _on_card(name: str) -> dict[str, None]:
    return _cards().get(name, {})


@cache
def _offered(lab: str, question: str) -> dict[str, None]:
    """The beliefs behind a question's wrong options; only questions that a lab here has are asked for."""
    item: Item = sheet(lab).items[question]
    return {intern(c.misconception): None for name, c in item.choices.items() if c.misconception and name != item.right}
