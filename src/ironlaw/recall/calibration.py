"""How well confidence and correctness go together: a table, and the Brier score.

A confidence of 1 to 5 stands for 25, 45, 65, 80 and 95 %. The Brier score is the mean of (probability − outcome)², 0 for who is always
sure and right, 0.25 for who always says one half, 1 for who is always sure and wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ironlaw.ledger import Event

STANDS_FOR = {1: 0.25, 2: 0.45, 3: 0.65, 4: 0.80, 5: 0.95}
EVEN = 0.5**2  # the Brier score of who says one half to everything


class Answered(Protocol):
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


@dataclass(frozen=True, slots=True)
class Row:
    """The answers given at one confidence."""

    confidence: int
    stated: float
    answers: int
    right: int

    @property
    def share(self) -> float | None:
        """That were right; None where there are none."""
        return self.right / self.answers if self.answers else None


def predictions(events: Iterable[Event]) -> list[Prediction]:
    """Those of the labs, first attempts only: a second one is made with the key in sight."""
    return [
        Prediction(e.lab, str(e.question), str(e.payload["choice"]), e.payload["confidence"], e.payload["correct"], e.time)
        for e in events
        if e.kind == "prediction" and e.attempt == 1
    ]


def table(answers: Iterable[Answered]) -> list[Row]:
    """One row per confidence, also where nothing was answered."""
    answers = list(answers)
    made = []
    for level, stated in STANDS_FOR.items():
        here = [answer for answer in answers if answer.confidence == level]
        made.append(Row(level, stated, len(here), sum(answer.correct for answer in here)))
    return made


def brier(answers: Iterable[Answered]) -> float | None:
    """None where nothing was answered."""
    errors = [(STANDS_FOR[answer.confidence] - answer.correct) ** 2 for answer in answers]
    return sum(errors) / len(errors) if errors else None
