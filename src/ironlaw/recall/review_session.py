"""One session: which card comes next, its variant, saving the answer, taking the last one back. Every step reads the ledger again, so
that a second window, an import or a crash does no harm. A front end draws the result and passes in the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ironlaw.errors import BadValue
from ironlaw.ledger import Event, Ledger
from ironlaw.recall import beliefs, checklist, concepts, focus, record, schedule
from ironlaw.recall.card_templates import Template
from ironlaw.recall.card_variants import Variant, variant
from ironlaw.recall.confidence import PROBABILITY, Answer, Prediction, predictions
from ironlaw.recall.grade import Grade
from ironlaw.recall.record import REVIEW, Review
from ironlaw.recall.schedule import Due, Standing

Clock = Callable[[], datetime]
LOOKING = ("opened", "context")  # events of somebody who has only looked into a lab


@dataclass(frozen=True, slots=True)
class State:
    """Everything the ledger says about the review at one moment."""

    events: tuple[Event, ...]
    reviews: tuple[Review, ...]
    predictions: tuple[Prediction, ...]
    standing: dict[str, Standing]
    now: datetime

    @property
    def answers(self) -> list[Answer]:
        """What confidence is judged by: answers in the review and first predictions in the labs."""
        return [*self.reviews, *self.predictions]

    @property
    def held_beliefs(self) -> list[beliefs.HeldBelief]:
        return beliefs.held_beliefs(self.reviews, self.predictions)

    @property
    def mastery(self) -> dict[str, float | None]:
        return concepts.mastery(self.standing)

    @property
    def claims(self) -> list[checklist.Claim]:
        return checklist.claims(record.ticks(self.events), self.standing)

    def due(self, topic: str | None = None) -> list[Due]:
        started = {event.lab for event in self.events if event.kind not in LOOKING}
        shaky = focus.cards(record.texts(self.events))
        return schedule.due(self.standing, self.now, topic, {one.belief for one in self.held_beliefs}, started, focus=shaky)


def state(ledger: Ledger, now: datetime) -> State:
    events = tuple(ledger.events())
    reviews = tuple(record.reviews(events, now))
    return State(events, reviews, tuple(predictions(events)), schedule.standings(reviews, now), now)


class Session:
    """Cards one after the other. `new`: how many new cards this session may bring; `seed` makes variants repeatable."""

    def __init__(self, ledger: Ledger, clock: Clock, topic: str | None = None, new: int = 10, seed: int | None = None) -> None:
        self.ledger, self.clock, self.topic, self.new, self.seed = ledger, clock, topic, new, seed
        self.skipped: set[str] = set()
        self.new_cards: set[str] = set()  # answered for the first time in this session
        self.answers: dict[str, Review] = {}  # this session's, by id

    def state(self) -> State:
        return state(self.ledger, self.clock())

    def queue(self) -> list[Due]:
        """What is left to answer, most urgent first."""
        cards = [card for card in self.state().due(self.topic) if card.template.id not in self.skipped]
        fresh = [card for card in cards if card.standing.due is None]
        surplus = {id(card) for card in fresh[max(0, self.new - len(self.new_cards)) :]}
        return [card for card in cards if id(card) not in surplus]

    def variant(self, template: Template) -> Variant:
        """The card's next variant: new figures after every answer, the same ones after a reload."""
        seed = record.times_answered(self.ledger.events(REVIEW), template.id)
        return variant(template, seed if self.seed is None else self.seed * 1_000_003 + seed)

    def answer(self, shown: Variant, typed: str, confidence: int, grade: Grade) -> Review:
        if confidence not in PROBABILITY:
            raise BadValue(f"{confidence!r} is not a confidence; say how sure you are, from 1 to 5")
        first = self.state().standing[shown.template.id].last is None
        review = record.save_answer(self.ledger, shown, typed, confidence, grade, self.clock())
        self.answers[review.id] = review
        if first:
            self.new_cards.add(shown.template.id)
        return review

    def skip(self, template: Template) -> None:
        """Leave a card out of this session."""
        self.skipped.add(template.id)

    def renew(self) -> None:
        """Begin another sitting: as many new cards as in the first, and what was skipped may come again."""
        self.skipped, self.new_cards, self.answers = set(), set(), {}

    def undo(self) -> Review | None:
        """Take the last answer back; its card comes again, with other figures."""
        review = record.undo(self.ledger)
        if review is not None:
            self.skipped.discard(review.card)
            self.new_cards.discard(review.card)
            self.answers.pop(review.id, None)
        return review
