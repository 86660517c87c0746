"""What the ledger says of the learner: predictions in other labs with what they asked, calibration, themes, beliefs that are still held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw import kit, lab_names
from ironlaw.engine.numerics.forecasts import Brier
from ironlaw.errors import IronlawError
from ironlaw.kit import question_sheet as sheets
from ironlaw.kit.lab import LABS
from ironlaw.kit.question_texts import asked
from ironlaw.ledger import Event
from ironlaw.recall import learner_calibration
from ironlaw.recall.beliefs import HeldBelief, held_beliefs
from ironlaw.recall.confidence import PROBABILITY, Prediction
from ironlaw.recall.record import answers
from ironlaw.recall.standing import Standing, standing

ALL = "all"


@dataclass(frozen=True)
class Answered:
    """One prediction, and where it can be seen."""

    prediction: Prediction
    text: str
    option: str
    off: float | None  # orders of magnitude, of a question on a log axis that was missed

    @property
    def lab(self) -> str:
        return lab_names.name(self.prediction.lab) or self.prediction.lab

    @property
    def stated(self) -> float:
        return PROBABILITY[self.prediction.confidence]

    @property
    def address(self) -> str:
        return f"/lab/{self.prediction.lab}/#{self.prediction.question}-lock"


@dataclass(frozen=True)
class Record:
    """The record of the volumes asked for."""

    standing: Standing
    answered: tuple[Answered, ...]
    curve: learner_calibration.Curve
    brier: Brier | None
    themes: tuple[learner_calibration.Theme, ...]
    held: tuple[HeldBelief, ...]


def record(lab: kit.Lab, volume: str = ALL) -> Record:
    """Without this lab, whose own predictions are about the record."""
    events = [e for e in lab.ledger.events() if e.lab != lab.slug and (volume == ALL or str(lab_names.volume(e.lab)) == volume)]
    own = standing(events)
    held = held_beliefs(answers(lab.ledger.events()), own.predictions)
    return Record(
        own, tuple(_answered(one) for one in own.predictions), learner_calibration.calibration(events), learner_calibration.brier(events),
        tuple(learner_calibration.themes(events)), tuple(held),
    )  # fmt: skip


def _answered(one: Prediction) -> Answered:
    about = asked(LABS / one.lab).get(one.question)
    text, option = (about.text, about.options.get(one.choice, "")) if about else ("", "")
    off = None if one.correct else learner_calibration.orders(one.value, _log_key(one.lab, one.question))
    return Answered(one, text, option, off)


@lru_cache(maxsize=128)
def _log_key(lab: str, question: str) -> float | None:
    """The truth of a question that is judged on a log axis; None for others, and where the lab is not here."""
    try:
        sheet = sheets.load(LABS / lab / "questions.toml")
        one = sheet.questions.get(question)
        return float(one.answer) if one is not None and one.scale == "log" else None
    except (IronlawError, OSError):
        return None


def labs_to_do(events: Sequence[Event], count: int = 3) -> list[str]:
    """The first labs of the course without a prediction."""
    done = {event.lab for event in events if event.kind == "prediction"}
    every = sorted((path.parent.name for path in LABS.glob("lab_*/questions.toml")), key=lab_names.order)
    return [lab_names.name(slug) for slug in every if slug not in done][:count]
