"""What is known about a learner in one lab: read from the ledger, so that a reload and a second window agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ironlaw.errors import unknown
from ironlaw.kit.question_sheet import COMMITTED, Option, Question
from ironlaw.ledger import Event


class LearnerRecord:
    """Only reads. What it keeps is forgotten when something is written."""

    def __init__(self, slug: str, questions: Mapping[str, Question], ledger: Any, beyond: Collection[str] = ()) -> None:
        """`beyond`: acts that are not of the core."""
        self.slug, self.questions, self.ledger, self.beyond = slug, questions, ledger, beyond
        self._predictions: dict[str, list[Event]] = {}

    def forget(self) -> None:
        self._predictions.clear()

    def question(self, name: str) -> Question:
        if name not in self.questions:
            raise unknown("question", name, self.questions, f"[{name}] in {self.slug}/questions.toml")
        return self.questions[name]

    def prediction(self, name: str) -> Event | None:
        """The newest prediction for a question."""
        attempts = self._attempts(name)
        return attempts[-1] if attempts else None

    def choice(self, name: str) -> Option | None:
        event = self.prediction(name)
        return self.question(name).option(str(event.payload["choice"])) if event else None

    def first_prediction(self, name: str) -> Event | None:
        """The one that counts: later attempts were made with the answer in sight."""
        attempts = self._attempts(name)
        return attempts[0] if attempts else None

    def _attempts(self, name: str) -> list[Event]:
        """Kept until something is written: a dial need not wait for the database, whether there is a prediction or none yet."""
        if name not in self._predictions:
            self._predictions[name] = self.question(name).answers(self.ledger.attempts(self.slug, name))
        return self._predictions[name]

    def first_choice(self, name: str) -> Option | None:
        event = self.first_prediction(name)
        return self.question(name).option(str(event.payload["choice"])) if event else None

    def correct(self, name: str) -> bool | None:
        """Whether the first prediction was right."""
        event = self.first_prediction(name)
        return bool(event.payload["correct"]) if event else None

    def holds(self, name: str) -> bool:
        """Whether the newest prediction is right, the one that is drawn."""
        event = self.prediction(name)
        return bool(event and event.payload["correct"])

    def confidence(self, name: str) -> int | None:
        event = self.first_prediction(name)
        return int(event.payload["confidence"]) if event else None

    def outcomes(self, *names: str) -> dict[str, Any]:
        """For the design: what the newest prediction said of each question, and whether the first was right."""
        chosen = {name: self.choice(name) for name in names}
        values = {f"{name}_prediction": option.value if option else None for name, option in chosen.items()}
        return values | {f"{name}_correct": self.correct(name) for name in names}

    def sealed(self, name: str, part: str) -> Any:
        """The estimate or the sketch that was sealed with the first prediction; None where there is none."""
        event = self.first_prediction(name)
        return event.payload.get(part) if event else None

    def decision(self, name: str) -> Event | None:
        """The design that was committed last."""
        from ironlaw.kit.decide import decision

        return decision(self.ledger, self.slug, name)

    def has_answer(self, name: str) -> bool:
        """Whether a reflection was answered, correctly or not."""
        return bool(self.question(name).answers(self.ledger.answers(self.slug, name)))

    def entry(self, name: str) -> Event | None:
        """The number committed to a challenge."""
        from ironlaw.kit.challenge import entry

        return entry(self.ledger, self.slug, name)

    @property
    def complete(self) -> bool:
        """Every question of the core is answered; a challenge may stay open."""
        core = {name: question for name, question in self.questions.items() if name not in self.beyond}
        return all(self.standing(name) for name, question in core.items() if question.kind != "number")

    def standing(self, name: str) -> int | bool:
        """How often a question was committed, or whether it was answered, as the ledger has it now."""
        question = self.question(name)
        if question.kind in COMMITTED:
            return len(question.answers(self.ledger.attempts(self.slug, name)))
        return self.entry(name) is not None if question.kind == "number" else self.has_answer(name)
