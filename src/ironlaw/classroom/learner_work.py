"""What one learner did, from the events of a ledger. It is all that a report keeps of them: a class is many ledgers.

The first answer counts, in whatever epoch it was given: later ones, also those after a reset, were given with the truth in sight.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import nan
from sys import intern
from typing import NamedTuple

from ironlaw.classroom.learner_beliefs import ANSWERS, Given, Held, held
from ironlaw.ledger import Event
from ironlaw.recall.record import answers

Step = tuple[str, str]  # a lab, and what was left or answered there
_steps: dict[Step, Step] = {}  # one of each, for all learners: a class has a million of them


class Answer(NamedTuple):
    """A learner's first answer to one question. `place`: among the learner's events."""

    lab: str
    question: str
    kind: str
    choice: str
    value: float | str | None
    correct: bool
    confidence: int | None
    estimate: float | None
    attempts: int
    time: str
    place: int


class Reviewed(NamedTuple):
    """An answer to a card of the review."""

    confidence: int
    correct: bool


@dataclass(frozen=True, slots=True)
class Work:
    """`answers`: the first to each question; `seconds`: what each of `steps` took, not a number where a gap in it was too long, or
    the clock went back; `active_s`: by lab, without `gaps`, the pauses that were too long; `saved`: lab -> when its design
    was first saved; `met`: the wrong beliefs that were offered; `beliefs`: what became of those that were chosen."""

    events: int
    last: str
    answers: dict[tuple[str, str], Answer]
    reviews: tuple[Reviewed, ...]
    steps: tuple[Step, ...]
    seconds: array[float]
    active_s: dict[str, float]
    gaps: int
    saved: dict[str, str]
    labs: frozenset[str]
    resets: int
    met: tuple[str, ...]
    beliefs: dict[str, Held]


def work(events: Sequence[Event], owner: str, idle_s: float) -> Work:
    """`owner`: the ledger's own learner; only their resets are counted."""
    steps, active, gaps = _times(events, idle_s)
    given = [Given(place, event, name) for place, event in enumerate(events) if event.kind in ANSWERS and (name := event.question)]
    reviewed = answers(events) if any(event.kind == "reviewed" for event in events) else []
    saved: dict[str, str] = {}
    for event in events:
        if event.kind == "design":
            saved.setdefault(intern(event.lab), event.time)
    labs, resets = {event.lab for event in events if event.lab}, sum(event.kind == "reset" and event.learner == owner for event in events)
    return Work(
        len(events), events[-1].time if events else "", first_answers(given), tuple(Reviewed(r.confidence, r.correct) for r in reviewed),
        tuple(steps), array("d", steps.values()), active, gaps, saved, frozenset(map(intern, labs)), resets, *held(given, reviewed),
    )  # fmt: skip


def first_answers(given: Sequence[Given]) -> dict[tuple[str, str], Answer]:
    first: dict[tuple[str, str], Given] = {}
    attempts: dict[tuple[str, str], int] = {}
    for one in given:
        key = (one.event.lab, one.question)
        first.setdefault(key, one)
        attempts[key] = attempts.get(key, 0) + 1
    return {_step(*key): _answer(one, many) for (key, one), many in zip(first.items(), attempts.values(), strict=True)}


def _answer(one: Given, attempts: int) -> Answer:
    event, payload = one.event, one.event.payload
    stated = payload if event.kind == "prediction" else {}  # elsewhere nobody has checked what these fields hold
    value, choice = payload.get("value"), payload.get("choice")
    if isinstance(value, str):
        value = intern(printable(value))
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        value = None
    return Answer(
        intern(event.lab), intern(one.question), intern(event.kind), "" if choice is None else intern(printable(str(choice))), value,
        bool(payload["correct"]), stated.get("confidence"), stated.get("estimate"), attempts, event.time, one.place,
    )  # fmt: skip


def _step(lab: str, step: str) -> Step:
    key = (intern(lab), intern(step))
    return _steps.setdefault(key, key) if len(_steps) < MOST_STEPS else key


MOST_STEPS = 100_000  # hostile files name any; the labs have some hundreds


def step_of(event: Event) -> str:
    """The step that an event ends; empty where it ends none."""
    if event.kind == "step":
        return str(event.payload["step"])
    if event.kind == "prediction":
        return f"{event.question}.lock"
    return str(event.question) if event.kind in ("reflection", "challenge") else ""


def _times(events: Sequence[Event], idle_s: float) -> tuple[dict[Step, float], dict[str, float], int]:
    """Time between events belongs to the lab of the later one. A step gets all the time of its lab since the step before it."""
    steps: dict[Step, float] = {}
    active: dict[str, float] = {}
    since: dict[str, float] = {}  # lab -> seconds since its last step; not a number once a gap was too long
    gaps, before = 0, None
    for event in events:
        now, lab = datetime.fromisoformat(event.time), event.lab
        gap = (now - before).total_seconds() if before is not None else None
        before = now
        if not lab:
            continue
        if lab not in since:  # the way to a lab is not part of it
            since[lab] = 0.0
        elif gap is None or not 0 <= gap <= idle_s:
            gaps += 1
            since[lab] = nan
        else:
            active[lab] = active.get(lab, 0.0) + gap
            since[lab] += gap
        step = step_of(event)
        if step:
            steps.setdefault(_step(lab, step), since[lab])
            since[lab] = 0.0
    return steps, active, gaps


def printable(text: str, longest: int = 200) -> str:
    """The text without characters that would move, hide or break a line."""
    text = text[:longest]
    return (text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)).strip()
