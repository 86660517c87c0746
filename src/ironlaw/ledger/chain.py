"""The chain: each event carries the hash of the one before it, so that a change anywhere shows from there on.

    prev of the first event = SHA-256 of ["ironlaw-ledger", the learner's id, since when]
    hash of an event        = SHA-256 of [prev, id, learner, epoch, lab, attempt, kind, payload, time, extra]

each list as JSON without blanks, `payload` and `extra` as the text that is stored (JSON, ASCII, keys in their order; `extra` is null
where there is none). Nothing in it is secret: it shows damage and clumsy changes, not the work of someone who computes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

CONTENT = ("id", "learner", "epoch", "lab", "attempt", "kind", "payload", "time", "extra")
LINK = (*CONTENT, "question", "prev", "hash")
Row = tuple[Any, ...]  # the values of LINK
_encode = json.JSONEncoder(separators=(",", ":")).encode


def genesis(learner: str, since: str) -> str:
    """What stands before the first event: the ledger's owner is part of the chain."""
    return _digest(["ironlaw-ledger", learner, since])


def link(prev: str, content: Iterable[Any]) -> str:
    """The hash of an event. `content`: the values of CONTENT, as stored."""
    return _digest([prev, *content])


def _digest(values: list[Any]) -> str:
    return sha256(_encode(values).encode()).hexdigest()


@dataclass(frozen=True)
class Walk:
    """How far the chain holds: events that follow one another, the last one's hash, and what is wrong with the next."""

    events: int
    head: str
    fault: str = ""


def walk(rows: Iterable[Row], start: str | None) -> Walk:
    """Follow the chain from `start`; None takes the first row's word for it, to look at the end of a long ledger."""
    count, before = 0, start
    for row in rows:
        before = row[-2] if before is None else before
        if fault := _fault(row, before):
            return Walk(count, before, fault)
        before = row[-1]
        count += 1
    return Walk(count, before or "")


def _fault(row: Row, before: str) -> str:
    if len(row) != len(LINK):
        return "an event can't be read"
    content, (question, prev, digest) = row[: len(CONTENT)], row[len(CONTENT) :]
    if prev != before:
        return f"{name(row)} does not follow the one before it: one was changed, moved or removed"
    try:
        if link(prev, content) != digest or question != question_of(content[5], content[6]):
            return f"{name(row)} was changed after it was written"
    except (TypeError, ValueError):  # bytes where text was, or text that is not JSON
        return f"{name(row)} can't be read"
    return ""


def name(row: Row) -> str:
    """An event for people: `event 1b4e28ba… (prediction, lab_01_magnitude, 2026-03-01 12:00:00 UTC)`."""
    id, _, _, lab, _, kind, _, time, _ = (str(value) for value in row[: len(CONTENT)])
    about = ", ".join(part for part in (kind[:50], lab[:50], time[:19].replace("T", " ") + " UTC") if part)
    return f"event {id[:36]} ({about})"


def question_of(kind: str, payload: str) -> str | None:
    """What the column `question` holds: a prediction's, so that the database can enforce its lock."""
    if kind != "prediction":
        return None
    question = json.loads(payload).get("question")
    return question if isinstance(question, str) else None


def intact(rows: list[Row]) -> Iterator[bool]:
    """Row by row: whether its content is what was written, by its own hash or by what its neighbours know of it."""
    for index, row in enumerate(rows):
        content, digests = row[: len(CONTENT)], {row[-1]}
        before = {row[-2]} | ({rows[index - 1][-1]} if index else set())
        if index + 1 < len(rows):
            digests.add(rows[index + 1][-2])
        try:
            yield any(link(prev, content) in digests for prev in before)
        except (TypeError, ValueError):
            yield False
