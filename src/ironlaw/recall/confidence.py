"""How well confidence and correctness go together: a table, and the Brier score.

A confidence of 1 to 5 stands for 25, 45, 65, 80 and 95%. The Brier score is the mean of (probability − outcome)²: 0 for someone who is
always sure and right, 0.25 for someone who always says one half, 1 for someone who is always sure and wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from ironlaw.ledger import Event

PROBABILITY = {1: 0.25, 2: 0.45, 3: 0.65, 4: 0.80, 5: 0.95}
EVEN_ODDS = 0.5**2  # the Brier score of saying one half to everything


class Answer(Protocol):
    @property
    def confidence(self) -> int: ...
    @property
    def correct(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Prediction:
    """A lab's prediction, which counts as the review's answers do."""

    lab: str
    question: str
    choice: str
    confidence: int
    correct: bool
    time: str
    place: int = field(default=0, compare=False)  # among the events
    value: object = field(default=None, compare=False)  # of the option; a figure where the question asks for one


@dataclass(frozen=True, slots=True)
class Row:
    """The answers at one level of confidence."""

    confidence: int
    stated: float
    answers: int
    right: int

    @property
    def share(self) -> float | None:
        """The share of right answers; None where there are no answers."""
        return self.right / self.answers if self.answers else None


def predictions(events: Iterable[Event]) -> list[Prediction]:
    """The labs' predictions, each question's first: by the second attempt, and after a reset, the learner has seen the key."""
    first: dict[tuple[str, str], Prediction] = {}
    for place, e in enumerate(events):
        if e.kind == "prediction" and e.attempt == 1:
            p, question = e.payload, str(e.question)
            one = Prediction(e.lab, question, str(p["choice"]), p["confidence"], p["correct"], e.time, place, p["value"])
            first.setdefault((e.lab, question), one)
    return list(first.values())


def table(answers: Iterable[Answer]) -> list[Row]:
    """One row per level of confidence, including levels without answers."""
    answers = list(answers)
    rows = []
    for level, stated in PROBABILITY.items():
        at_level = [answer for answer in answers if answer.confidence == level]
        rows.append(Row(level, stated, len(at_level), sum(answer.correct for answer in at_level)))
    return rows


def brier(answers: Iterable[Answer]) -> float | None:
    """None where there are no answers."""
    errors = [(PROBABILITY[answer.confidence] - answer.correct) ** 2 for answer in answers]
    return sum(errors) / len(errors) if errors else None
