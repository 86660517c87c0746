"""When a card is due: FSRS (the `fsrs` library), replayed over all answers each time, so that an undo or an import needs no repair.

A wrong answer is FSRS's Again. A right one is Hard at a confidence of 1 or 2, Good at 3 or 4, Easy at 5: learners who were right without
knowing it should see the card again sooner. Intervals are not fuzzed: the same answers give the same days.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from ironlaw.recall.card_templates import Template, templates
from ironlaw.recall.record import REVIEW, Review

if TYPE_CHECKING:
    import fsrs

SURE = 4  # confidence from which a wrong answer is a confident one
REASONS = ("confident error", "due", "belief held", "shaky", "new")
RATINGS = {1: "Hard", 2: "Hard", 3: "Good", 4: "Good", 5: "Easy"}


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one card. `due` is None until it is answered for the first time."""

    card: str
    reviews: tuple[Review, ...]
    due: datetime | None
    retrievability: float  # FSRS's probability that it is remembered now; 0 if it was never answered

    @property
    def last(self) -> Review | None:
        return self.reviews[-1] if self.reviews else None

    @property
    def confident_error(self) -> bool:
        """Whether the last answer was wrong and sure."""
        return self.last is not None and not self.last.correct and self.last.confidence >= SURE


@dataclass(frozen=True, slots=True)
class Due:
    template: Template
    standing: Standing
    reason: str


def standings(reviews: Iterable[Review], now: datetime, cards: Mapping[str, Template] | None = None) -> dict[str, Standing]:
    """Every card's standing. Answers to cards that no longer exist stay in the ledger and are ignored here."""
    cards = templates() if cards is None else cards
    by_card: dict[str, list[Review]] = {name: [] for name in cards}
    for review in reviews:
        by_card.get(review.card, []).append(review)
    return {name: _standing(name, tuple(answers), now) for name, answers in by_card.items()}


def due(
    standing: Mapping[str, Standing],
    now: datetime,
    topic: str | None = None,
    held_beliefs: Iterable[str] = (),
    started_labs: Iterable[str] = (),
    cards: Mapping[str, Template] | None = None,
    focus: Collection[str] = (),
) -> list[Due]:
    """The cards to answer now. Confident errors first; then those that are due, longest overdue first; then new ones: those about a
    belief that is held, those in `focus`, those of labs that were started, those that need no lab, and the rest. Among equals the ten to
    start with come first, then topics take turns."""
    cards, held = templates() if cards is None else cards, set(held_beliefs)
    started = set(started_labs) & {template.lab for template in cards.values()} - {REVIEW}
    ranked = []
    rank: dict[str, int] = {}  # a new card's place in its topic, so that topics take turns
    for name, template in cards.items():
        rank[template.topic] = rank.get(template.topic, -1) + 1
        stands = standing[name]
        if topic not in (None, template.topic) or (stands.due is not None and stands.due > now):
            continue
        reason = _reason(template, stands, held, name in focus)
        late = (now - stands.due).total_seconds() if stands.due else 0.0
        taught = 0 if template.lab in started else 1 if template.lab == REVIEW else 2
        # before any lab was begun, the ten are the way in
        order = (taught, template.first or len(cards)) if started else (template.first or len(cards), taught)
        place = (*order, rank[template.topic]) if stands.due is None else ()
        ranked.append(((REASONS.index(reason), -late, place), Due(template, stands, reason)))
    return [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]


def next_due(standing: Mapping[str, Standing], now: datetime) -> datetime | None:
    """When the next answered card comes back."""
    return min((stands.due for stands in standing.values() if stands.due and stands.due > now), default=None)


def time_until(time: timedelta) -> str:
    """`in 3 days`, `in 10 minutes`."""
    seconds = max(0.0, time.total_seconds())
    for name, length in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        count = round(seconds / length)
        if count >= 1:
            return f"in {count} {name}" + ("" if count == 1 else "s")
    return "in a moment"


def _reason(template: Template, stands: Standing, held: set[str], in_focus: bool) -> str:
    if stands.confident_error:
        return "confident error"
    if stands.due is not None:
        return "due"
    return "belief held" if held & template.misconceptions else "shaky" if in_focus else "new"


def _standing(name: str, reviews: tuple[Review, ...], now: datetime) -> Standing:
    if not reviews:
        return Standing(name, (), None, 0.0)
    import fsrs

    # an id of our own: to make one, fsrs would read the clock and sleep
    card = fsrs.Card(card_id=zlib.crc32(name.encode()), due=reviews[0].at)
    for review in reviews:
        rating = fsrs.Rating[RATINGS[review.confidence] if review.correct else "Again"]
        card, _ = scheduler().review_card(card, rating, review.at)
    return Standing(name, reviews, card.due, float(scheduler().get_card_retrievability(card, now)))


@cache
def scheduler() -> fsrs.Scheduler:
    import fsrs

    return fsrs.Scheduler(enable_fuzzing=False)
