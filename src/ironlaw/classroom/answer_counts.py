"""The figures of a class: one value, from which the page, the CSV files and the JSON are written."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan

from ironlaw import lab_names
from ironlaw.classroom.class_beliefs import Belief, count_beliefs
from ironlaw.classroom.class_learner import Learner
from ironlaw.classroom.class_predictions import ItemFigures, figures
from ironlaw.classroom.hand_ins import HandIns
from ironlaw.classroom.learner_names import Naming, as_given
from ironlaw.classroom.learner_work import Step
from ironlaw.classroom.sheets import LabSheet, sheets
from ironlaw.classroom.stats import quartiles
from ironlaw.recall.confidence import PROBABILITY, Answer, Row, brier, table

FEWEST_ANSWERS = 5  # under which a learner's Brier score is noise


@dataclass(frozen=True)
class StepTimes:
    """How long a step took. `left_out`: learners who made it after a gap that was too long to be work."""

    lab: str
    step: str
    label: str
    n: int
    left_out: int
    quartiles: tuple[float, float, float] | None


@dataclass(frozen=True)
class Calibration:
    """Confidence beside correctness: of the labs' first predictions, or of the review's cards."""

    what: str
    rows: tuple[Row, ...]
    brier: float | None

    @property
    def n(self) -> int:
        return sum(row.answers for row in self.rows)

    @property
    def stated(self) -> float:
        """The mean of the stated probabilities; there is at least one answer."""
        return sum(row.stated * row.answers for row in self.rows) / self.n

    @property
    def right(self) -> float:
        return sum(row.right for row in self.rows) / self.n


@dataclass(frozen=True)
class ClassFigures:
    hand_ins: HandIns
    naming: Naming
    learners: tuple[Learner, ...]
    sheets: dict[str, LabSheet]
    items: tuple[ItemFigures, ...]
    beliefs: tuple[Belief, ...]
    steps: tuple[StepTimes, ...]
    calibration: tuple[Calibration, ...]
    idle_s: float

    @property
    def files(self) -> int:
        return len(self.hand_ins.ledgers) + len(self.hand_ins.refused)


def count(hand_ins: HandIns, naming: Naming | None = None) -> ClassFigures:
    """`naming`: what learners and files are called."""
    naming = naming or as_given(hand_ins)
    learners = sorted(
        (Learner(hand_in, naming.learner(hand_in)) for hand_in in hand_ins.ledgers),
        key=lambda one: (one.label.casefold(), one.label),
    )
    labs = sheets(lab for one in learners for lab in one.work.labs)
    return ClassFigures(
        hand_ins, naming, tuple(learners), labs, tuple(figures(learners, labs)), tuple(count_beliefs(learners, labs)),
        tuple(_steps(learners, labs)), tuple(_calibration(learners)), hand_ins.idle_s,
    )  # fmt: skip


def finished(one: Learner, lab: LabSheet) -> bool:
    """Every question but a challenge is answered, as the lab itself counts it."""
    return lab.known and bool(lab.required) and lab.asked_for <= one.work.answers.keys()


def own_brier(one: Learner) -> float | None:
    """The Brier score of the first predictions; None where there are too few."""
    answers = _confident(one)
    return brier(answers) if len(answers) >= FEWEST_ANSWERS else None


@dataclass(frozen=True)
class _Stated:
    confidence: int
    correct: bool


def _confident(one: Learner) -> list[Answer]:
    return [_Stated(answer.confidence, answer.correct) for answer in one.work.answers.values() if answer.confidence in PROBABILITY]


def _calibration(learners: Sequence[Learner]) -> list[Calibration]:
    of: dict[str, Callable[[Learner], Sequence[Answer]]] = {
        "first predictions": _confident,
        "cards of the review": lambda one: one.work.reviews,
    }
    listed = []
    for what, choose in of.items():
        answers = [answer for one in learners for answer in choose(one)]
        if answers:
            listed.append(Calibration(what, tuple(table(answers)), brier(answers)))
    return listed


def _steps(learners: Sequence[Learner], labs: dict[str, LabSheet]) -> list[StepTimes]:
    """In the order in which most learners come to them: that of the lab's places, then the others by name."""
    times: dict[Step, array[float]] = {}
    for one in learners:
        for made, seconds in zip(one.work.steps, one.work.seconds, strict=True):
            times.setdefault(made, array("d")).append(seconds)
    place = {lab: i for i, lab in enumerate(labs)}

    def order(key: tuple[str, str]) -> tuple[int, int, int, str]:
        lab, step = key
        at, asked = list(labs[lab].places), list(labs[lab].items)
        act = step.partition(".")[0].partition("_")[0]
        where = step if step in at else step.replace("_", ".", 1) if step.endswith("_challenge") else f"{act}.reflect"
        return place[lab], at.index(where) if where in at else len(at), asked.index(step) if step in asked else 0, step

    listed = []
    for lab, step in sorted(times, key=order):
        counted = [seconds for seconds in times[lab, step] if not isnan(seconds)]
        missing = len(times[lab, step]) - len(counted)
        listed.append(StepTimes(lab, step, _label(labs[lab], step), len(counted), missing, quartiles(counted)))
    return listed


def _label(lab: LabSheet, step: str) -> str:
    act = lab_names.act(step)
    if step in lab.places:
        return f"{lab.places[step]} ({act})" if "." in step else lab.places[step]
    kind = lab.items[step].kind if step in lab.items else ""
    own = [word for word in step.split("_")[1:] if word not in ("reflection", "challenge")]
    act = ", ".join([act, *own])
    return f"{ {'reflection': 'Reflect', 'blank': 'Complete the sentence', 'number': 'Challenge'}.get(kind, 'Answer') } ({act})"
