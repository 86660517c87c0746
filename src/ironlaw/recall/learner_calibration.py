"""A learner's record of predictions: the calibration curve, the Brier score in Murphy's parts, by theme, and orders of magnitude off.

Only labs' predictions count here, and of each question the first: later ones were committed with the truth in sight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from ironlaw.engine.numerics import forecasts
from ironlaw.engine.numerics.forecasts import Brier
from ironlaw.engine.numerics.shares import wilson
from ironlaw.ledger import Event
from ironlaw.recall import confidence
from ironlaw.recall.confidence import PROBABILITY, Prediction, Row


@dataclass(frozen=True, slots=True)
class Point(Row):
    """A level of confidence; the true share of right answers is within `interval` with 95% confidence (Wilson), None without answers."""

    @property
    def interval(self) -> tuple[float, float] | None:
        if not self.answers:
            return None
        share = wilson(self.right, self.answers)
        return share.low, share.high


@dataclass(frozen=True, slots=True)
class Curve:
    """Confidence against the share right: a point per level, also for levels without answers."""

    points: tuple[Point, ...]

    @property
    def answers(self) -> int:
        return sum(point.answers for point in self.points)

    @property
    def right(self) -> int:
        return sum(point.right for point in self.points)


@dataclass(frozen=True, slots=True)
class Theme:
    """The predictions of one lab. `stated`: the mean of what their confidences stand for."""

    lab: str
    answers: int
    right: int
    stated: float
    score: float  # Brier's

    @property
    def gap(self) -> float:
        """Stated minus right: above 0 the learner was too sure."""
        return self.stated - self.right / self.answers


def calibration(events: Iterable[Event]) -> Curve:
    rows = confidence.table(confidence.predictions(events))
    return Curve(tuple(Point(row.confidence, row.stated, row.answers, row.right) for row in rows))


def brier(events: Iterable[Event]) -> Brier | None:
    """None without a prediction."""
    return forecasts.brier((PROBABILITY[p.confidence], p.correct) for p in confidence.predictions(events))


def themes(events: Iterable[Event]) -> list[Theme]:
    """The themes by lab, the worst Brier score first."""
    by_lab: dict[str, list[Prediction]] = {}
    for prediction in confidence.predictions(events):
        by_lab.setdefault(prediction.lab, []).append(prediction)
    listed = [
        Theme(lab, len(of), sum(p.correct for p in of), fmean(PROBABILITY[p.confidence] for p in of), confidence.brier(of) or 0.0)
        for lab, of in by_lab.items()
    ]
    return sorted(listed, key=lambda theme: -theme.score)


def orders(value: object, truth: object) -> float | None:
    """log10(value / truth), above 0 where the value is too high; None where one of the two is not a figure above 0."""
    if not isinstance(value, (int, float)) or not isinstance(truth, (int, float)) or value <= 0 or truth <= 0:
        return None
    return math.log10(value) - math.log10(truth)


def orders_off(events: Iterable[Event], truths: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """(lab, question) -> orders of magnitude off. `truths`: the keys of the questions that are judged on a log axis."""
    predictions = ((p.lab, p.question, p.value) for p in confidence.predictions(events))
    judged = {(lab, question): orders(value, truths.get((lab, question))) for lab, question, value in predictions}
    return {key: distance for key, distance in judged.items() if distance is not None}
