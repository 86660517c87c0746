"""When a card is due: FSRS (the `fsrs` library), run again over the answers each time, so that an undo or an import needs no repair.

A wrong answer is FSRS's Again. A right one is Hard at a confidence of 1 or 2, Good at 3 or 4, Easy at 5: who was right and did not
know it should see the card again sooner. Intervals are not fuzzed: the same answers give the same days.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from ironlaw.recall.record import Review
from ironlaw.recall.templates import Template, templates

if TYPE_CHECKING:
    import fsrs

SURE = 4  # confidence from which a wrong answer is a confident one
REASONS = ("confident error", "due", "belief held", "new")
RATINGS = {1: "Hard", 2: "Hard", 3: "Good", 4: "Good", 5: "Easy"}


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one card stands. `due` is None as long as it was never answered."""

    card: str
    reviews: tuple[Review, ...]
    due: datetime | None
    retrievability: float  # that it is remembered now, by FSRS; 0 where it was never answered

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
    """Every card's standing. Answers to cards that are no more stay in the ledger, and count for nothing here."""
    cards = templates() if cards is None else cards
    given: dict[str, list[Review]] = {name: [] for name in cards}
    for review in reviews:
        given.get(review.card, []).append(review)
    return {name: _standing(name, tuple(found), now) for name, found in given.items()}


def due(
    standing: Mapping[str, Standing],
    now: datetime,
    topic: str | None = None,
    held: Iterable[str] = (),
    started: Iterable[str] = (),
    cards: Mapping[str, Template] | None = None,
) -> list[Due]:
    """The cards to answer now. Confident errors first; then those whose time has come, longest overdue first; then new ones: those
    about a belief that is held, the ten to start with, those of labs that were begun, and the rest, one topic after the other."""
    cards, held, started = templates() if cards is None else cards, set(held), set(started)
    found = []
    rank: dict[str, int] = {}  # a new card's place in its topic, so that topics take turns
    for name, template in cards.items():
        rank[template.topic] = rank.get(template.topic, -1) + 1
        stands = standing[name]
        if topic not in (None, template.topic) or (stands.due is not None and stands.due > now):
            continue
        reason = _reason(template, stands, held)
        late = (now - stands.due).total_seconds() if stands.due else 0.0
        unmet = template.lab not in started and template.lab != "review"
        place = (template.first or len(cards), unmet, rank[template.topic]) if stands.due is None else ()
        found.append(((REASONS.index(reason), -late, place), Due(template, stands, reason)))
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def next_due(standing: Mapping[str, Standing], now: datetime) -> datetime | None:
    """When the next card that was answered before comes back."""
    return min((stands.due for stands in standing.values() if stands.due and stands.due > now), default=None)


def wait(time: timedelta) -> str:
    """Until a card comes back: `in 3 days`, `in 10 minutes`."""
    seconds = max(0.0, time.total_seconds())
    for name, length in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        count = round(seconds / length)
        if count >= 1:
            return f"in {count} {name}" + ("" if count == 1 else "s")
    return "in a moment"


def _reason(template: Template, stands: Standing, held: set[str]) -> str:
    if stands.confident_error:
        return "confident error"
    if stands.due is not None:
        return "due"
    return "belief held" if held & template.misconceptions else "new"


def _standing(name: str, reviews: tuple[Review, ...], now: datetime) -> Standing:
    if not reviews:
        return Standing(name, (), None, 0.0)
    import fsrs

    # an id of our own: fsrs would look at the clock and sleep for one
    card = fsrs.Card(card_id=zlib.crc32(name.encode()), due=reviews[0].at)
    for review in reviews:
        rating = fsrs.Rating[RATINGS[review.confidence] if review.correct else "Again"]
        card, _ = scheduler().review_card(card, rating, review.at)
    return Standing(name, reviews, card.due, float(scheduler().get_card_retrievability(card, now)))


@cache
def scheduler() -> fsrs.Scheduler:
    import fsrs

    return fsrs.Scheduler(enable_fuzzing=False)
