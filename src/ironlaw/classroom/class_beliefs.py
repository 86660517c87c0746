"""Misconceptions by share: of the learners who met a question that offers a belief, how many chose it at least once.

A belief counts once per learner. It is given up where the learner later answers a question or a card rightly that offers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.classroom.class_answers import ANSWERS, Learner
from ironlaw.classroom.sheets import Item, LabSheet
from ironlaw.classroom.stats import wilson
from ironlaw.recall.beliefs import beliefs
from ironlaw.recall.card_templates import templates
from ironlaw.recall.schedule import SURE


@dataclass(frozen=True)
class Belief:
    """`met`: learners who could have chosen it; `chose`: those who did; `sure`, of them with a confidence of 4 or 5; `given_up`, since."""

    name: str
    says: str
    met: int
    chose: int
    sure: int
    given_up: int
    where: tuple[str, ...]  # questions and cards where it was chosen

    @property
    def share(self) -> float:
        return self.chose / self.met

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(self.chose, self.met)


@dataclass
class _Seen:
    met: set[int]
    chose: set[int]
    sure: set[int]
    given_up: set[int]
    where: dict[str, None]


def count_beliefs(learners: Sequence[Learner], sheets: dict[str, LabSheet]) -> list[Belief]:
    """The most frequent first; only those that somebody chose."""
    seen: dict[str, _Seen] = {}
    for number, one in enumerate(learners):
        for offered, chosen, sure, right, where in _history(one, sheets):
            for name in offered:
                belief = seen.setdefault(name, _Seen(set(), set(), set(), set(), {}))
                belief.met.add(number)
                if right and number in belief.chose:
                    belief.given_up.add(number)
            if chosen:
                belief = seen.setdefault(chosen, _Seen({number}, set(), set(), set(), {}))
                belief.met.add(number)
                belief.chose.add(number)
                belief.given_up.discard(number)
                belief.where[where] = None
                if sure:
                    belief.sure.add(number)
    known = beliefs()
    offered_here = {choice.misconception for sheet in sheets.values() for item in sheet.items.values() for choice in item.choices.values()}
    listed = [
        Belief(name, known.get(name, name), len(b.met), len(b.chose), len(b.sure), len(b.given_up), tuple(b.where))
        for name, b in seen.items()
        if b.chose and (name in known or name in offered_here)  # a file may name any
    ]
    return sorted(listed, key=lambda one: (-one.share, -one.met, one.name))


def _history(one: Learner, sheets: dict[str, LabSheet]) -> list[tuple[tuple[str, ...], str, bool, bool, str]]:
    """In order: the beliefs that were offered, the one that was chosen, whether with confidence, whether right, and where."""
    rows = []
    cards = {review.id: review for review in one.reviews}  # those that were taken back are not among them
    for event in one.hand_in.events:
        if event.kind in ANSWERS and event.question:
            item = sheets[event.lab].items.get(event.question) or Item(event.lab, event.question)
            offered = tuple({c.misconception: None for name, c in item.choices.items() if c.misconception and name != item.right})
            right, payload = bool(event.payload["correct"]), event.payload
            choice = item.choices.get(str(payload.get("choice")))
            stored = payload.get("misconception")  # as the lab had it when it was answered
            chosen = "" if right else str(stored or (choice.misconception if choice else ""))
            sure = isinstance(payload.get("confidence"), int) and payload["confidence"] >= SURE
            rows.append((offered, chosen, sure, right, f"{event.lab}/{event.question}"))
        elif event.id in cards:
            review = cards[event.id]
            template = templates().get(review.card)
            offered = tuple(template.misconceptions) if template else ()
            chosen = "" if review.correct else review.misconception or ""
            rows.append((offered, chosen, review.confidence >= SURE, review.correct, f"review/{review.card}"))
    return rows
