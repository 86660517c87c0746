"""A learner of the class: what they did, and what the report calls them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from ironlaw.classroom.hand_in_file import HandIn
from ironlaw.classroom.learner_work import Answer, Reviewed, Step


@dataclass(frozen=True, slots=True)
class Learner:
    """The fields are those of `Work`."""

    hand_in: HandIn
    label: str
    answers: dict[tuple[str, str], Answer]
    reviews: tuple[Reviewed, ...]
    steps: tuple[Step, ...]
    seconds: array[float]
    active_s: dict[str, float]
    gaps: int
    saved: dict[str, str]
    labs: frozenset[str]
    resets: int
    last: str


def learner(hand_in: HandIn, label: str) -> Learner:
    w = hand_in.work
    return Learner(hand_in, label, w.answers, w.reviews, w.steps, w.seconds, w.active_s, w.gaps, w.saved, w.labs, w.resets, w.last)
