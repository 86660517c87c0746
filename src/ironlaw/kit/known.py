"""What is known about a learner in one lab: asked of the ledger, so that a reload and a second window agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.errors import unknown
from ironlaw.kit import challenge as challenges
from ironlaw.kit.context import Context
from ironlaw.kit.local_runs import Measured
from ironlaw.kit.questions import Option, Question
from ironlaw.ledger import Event


class Known:
    """The part of a Lab that only reads."""

    slug: str
    ledger: Any
    questions: Mapping[str, Question]
    chosen: Context
    readouts: dict[str, dict[str, Any]]
    measured: dict[str, Measured]
    _held: dict[str, Event]

    def question(self, name: str) -> Question:
        if name not in self.questions:
            raise unknown("question", name, self.questions, f"[{name}] in {self.slug}/questions.toml")
        return self.questions[name]

    def committed(self, name: str) -> Event | None:
        """The newest prediction for a question. Kept once found: it can't change, and a dial need not wait for the database."""
        if name not in self._held:
            found: Event | None = self.ledger.prediction(self.slug, name)
            if found is None:
                return None
            self._held[name] = found
        return self._held[name]

    def choice(self, name: str) -> Option | None:
        event = self.committed(name)
        return self.question(name).option(str(event.payload["choice"])) if event else None

    def correct(self, name: str) -> bool | None:
        event = self.committed(name)
        return bool(event.payload["correct"]) if event else None

    def confidence(self, name: str) -> int | None:
        event = self.committed(name)
        return int(event.payload["confidence"]) if event else None

    def answered(self, name: str) -> bool:
        """Whether a reflection was answered, rightly or not."""
        return bool(self.ledger.answers(self.slug, name))

    def entered(self, name: str) -> Event | None:
        """The number that was committed to a challenge."""
        return challenges.entered(self.ledger, self.slug, name)

    @property
    def complete(self) -> bool:
        """Every question answered; a challenge may be left."""
        return all(self._standing(name) for name, question in self.questions.items() if question.kind != "number")

    def _standing(self, name: str) -> Any:
        if name == "context":
            return self.chosen.slug
        if name == "measured":
            return {experiment: found.time for experiment, found in self.measured.items()}
        if name == "readouts":
            return {act: dict(found) for act, found in self.readouts.items()}
        if self.question(name).kind == "prediction":
            return len(self.ledger.attempts(self.slug, name))
        if self.question(name).kind == "number":
            return self.entered(name) is not None
        return self.answered(name)
