"""What one learner did, from the events of a ledger. It is all that a report keeps of them: a class is many ledgers.

The first answer counts, in whatever epoch it was given: later ones, also those after a reset, were given with the truth in sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from sys import intern

from ironlaw.classroom.learner_beliefs import ANSWERS, Held, held
from ironlaw.ledger import Event
from ironlaw.recall.record import Review, answers


@dataclass(frozen=True, slots=True)
class Answer:
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


@dataclass(frozen=True, slots=True)
class Step:
    """How long a learner took to a step; None where a gap in it was too long to be work, or the clock went back."""

    lab: str
    step: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """`answers`: the first to each question; `active_s`: by lab, without `gaps`, the times between two events that were too long;
    `saved`: lab -> when its design was first saved; `beliefs`: what each wrong belief that was offered came to."""

    events: int
    last: str
    answers: dict[tuple[str, str], Answer]
    reviews: tuple[Review, ...]
    steps: tuple[Step, ...]
    active_s: dict[str, float]
    gaps: int
    saved: dict[str, str]
    labs: frozenset[str]
    resets: int
    beliefs: dict[str, Held]


def work(events: Sequence[Event], owner: str, idle_s: float) -> Work:
    """`owner`: the ledger's own learner; only their resets are counted."""
    steps, active, gaps = _times(events, idle_s)
    reviewed = answers(events)
    saved: dict[str, str] = {}
    for event in events:
        if event.kind == "design":
            saved.setdefault(intern(event.lab), event.time)
    return Work(
        len(events), events[-1].time if events else "", first_answers(events), tuple(reviewed), tuple(steps), active, gaps, saved,
        frozenset(intern(event.lab) for event in events if event.lab),
        sum(event.kind == "reset" and event.learner == owner for event in events), held(events, reviewed),
    )  # fmt: skip


def first_answers(events: Sequence[Event]) -> dict[tuple[str, str], Answer]:
    first: dict[tuple[str, str], tuple[int, Event]] = {}
    attempts: dict[tuple[str, str], int] = {}
    for place, event in enumerate(events):
        if event.kind in ANSWERS and event.question:
            key = (intern(event.lab), intern(event.question))
            first.setdefault(key, (place, event))
            attempts[key] = attempts.get(key, 0) + 1
    return {key: _answer(event, attempts[key], place) for key, (place, event) in first.items()}


def _answer(event: Event, attempts: int, place: int) -> Answer:
    payload = event.payload
    value = payload.get("value")
    value = printable(value) if isinstance(value, str) else value
    usable = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    choice = payload.get("choice")
    return Answer(
        intern(event.lab), intern(str(event.question)), intern(event.kind), "" if choice is None else intern(printable(str(choice))),
        intern(value) if isinstance(value, str) else value if usable else None,
        bool(payload["correct"]), payload.get("confidence"), payload.get("estimate"), attempts, event.time, place,
    )  # fmt: skip


def step_of(event: Event) -> str:
    """The step that an event ends; empty where it ends none."""
    if event.kind == "step":
        return str(event.payload["step"])
    if event.kind == "prediction":
        return f"{event.question}.lock"
    return str(event.question) if event.kind in ("reflection", "challenge") else ""


def _times(events: Sequence[Event], idle_s: float) -> tuple[list[Step], dict[str, float], int]:
    """Time between events belongs to the lab of the later one. A step has what came together since the lab's step before it."""
    steps: list[Step] = []
    active: dict[str, float] = {}
    since: dict[str, float | None] = {}  # lab -> seconds since its last step; None once a gap was too long
    done: set[tuple[str, str]] = set()
    gaps, before = 0, None
    for event in events:
        now = datetime.fromisoformat(event.time)
        gap = (now - before).total_seconds() if before is not None else None
        before = now
        if not event.lab:
            continue
        if event.lab not in since:  # the way to a lab is not part of it
            since[event.lab] = 0.0
        elif gap is None or not 0 <= gap <= idle_s:
            gaps += 1
            since[event.lab] = None
        else:
            active[event.lab] = active.get(event.lab, 0.0) + gap
            so_far = since[event.lab]
            since[event.lab] = None if so_far is None else so_far + gap
        step = step_of(event)
        if step:
            if (event.lab, step) not in done:
                steps.append(Step(intern(event.lab), intern(step), since[event.lab]))
                done.add((event.lab, step))
            since[event.lab] = 0.0
    return steps, active, gaps


def printable(text: str, longest: int = 200) -> str:
    """Without characters that would move, hide or break a line."""
    text = text[:longest]
    return (text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)).strip()
