"""An event, and what makes one valid. The same checks run before a write and before an import."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from ironlaw.errors import BadValue, unknown

MAX_NAME = 200  # characters of a lab's slug or a question's id
MAX_PAYLOAD = 1_000_000  # characters of JSON; a design has a few hundred
MAX_COUNT = 1_000_000  # attempts and epochs: beyond any learner, within any database's integer


@dataclass(frozen=True)
class Event:
    """One thing that happened. `epoch` counts the resets of its learner from 1; `time` is UTC, ISO 8601, in microseconds."""

    id: str
    learner: str
    epoch: int
    lab: str
    attempt: int
    kind: str
    payload: dict[str, Any]
    time: str

    @property
    def question(self) -> str | None:
        """The question that a prediction or a reflection answers."""
        name = self.payload.get("question")
        return name if isinstance(name, str) else None


def new(learner: str, epoch: int, lab: str, attempt: int, kind: str, payload: dict[str, Any]) -> Event:
    """An event that happens now. Its payload is a copy that has been through JSON."""
    event = Event(str(uuid4()), learner, epoch, lab, attempt, kind, payload, now())
    check(event)
    return Event(**{**event.__dict__, "payload": json.loads(encode(payload))})


def now() -> str:
    return utc(datetime.now(UTC))


def utc(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def encode(payload: dict[str, Any]) -> str:
    """As JSON: ASCII, so that every database stores it unchanged; keys keep their order."""
    try:
        json.dumps(payload, ensure_ascii=False).encode()  # half a surrogate pair can't be encoded
        text = json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadValue(f"a payload must be JSON: {error}; use text, finite numbers, true, false, null, lists and objects") from None
    if len(text) > MAX_PAYLOAD:
        raise BadValue(f"a payload of {len(text):,} characters is too large; keep it under {MAX_PAYLOAD:,}")
    return text


def check(event: Event) -> None:
    """BadValue if anything about it is invalid."""
    if not isinstance(event.kind, str) or event.kind not in KINDS:
        raise unknown("kind of event", event.kind, KINDS)
    check_uuid(event.id, "id")
    check_uuid(event.learner, "learner")
    check_count(event.epoch, "epoch")
    check_count(event.attempt, "attempt")
    if event.lab or event.kind not in ("named", "reset"):
        check_name(event.lab, "lab")
    elif not isinstance(event.lab, str):
        raise BadValue(f"lab is {event.lab!r}; give the lab's slug")
    if not isinstance(event.payload, dict):
        raise BadValue(f"a payload is an object, not {event.payload!r}")
    if (rule := KINDS[event.kind]) is not None:
        rule(event.payload)


def check_uuid(value: object, what: str) -> None:
    try:
        good = isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        good = False
    if not good:
        raise BadValue(f"{what} is {value!r}; expected a UUID in lower case with hyphens")


def check_count(value: object, what: str, most: int = MAX_COUNT) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadValue(f"{what} is {value!r}; expected a whole number from 1 to {most:,}")


def check_name(value: object, what: str, longest: int = MAX_NAME) -> None:
    if not isinstance(value, str) or not value.strip() or len(value) > longest or not value.isprintable():
        raise BadValue(f"{what} is {value!r}; expected 1 to {longest} printable characters")


def _prediction(payload: dict[str, Any]) -> None:
    for field in ("question", "choice", "value", "confidence", "correct"):
        if field not in payload:
            raise BadValue(f"a prediction has no {field!r}; it needs question, choice, value, confidence and correct")
    check_name(payload["question"], "question")
    check_count(payload["confidence"], "confidence", 5)
    if not isinstance(payload["correct"], bool):
        raise BadValue(f"correct is {payload['correct']!r}; expected true or false")


def _question(payload: dict[str, Any]) -> None:
    check_name(payload.get("question"), "question")


def _context(payload: dict[str, Any]) -> None:
    check_name(payload.get("context"), "a context event's `context`")


def _named(payload: dict[str, Any]) -> None:
    if payload.get("name") != "":  # an empty name removes the name
        check_name(payload.get("name"), "name", 80)


def _reviewed(payload: dict[str, Any]) -> None:
    for field in ("card", "seed", "answer", "confidence", "correct", "misconception", "at"):
        if field not in payload:
            raise BadValue(f"a review has no {field!r}; it needs card, seed, answer, confidence, correct, misconception and at")
    check_name(payload["card"], "card")
    check_count(payload["confidence"], "confidence", 5)
    if not isinstance(payload["correct"], bool):
        raise BadValue(f"correct is {payload['correct']!r}; expected true or false")
    if payload["misconception"] is not None:
        check_name(payload["misconception"], "misconception")
    _moment(payload["at"])


def _undo(payload: dict[str, Any]) -> None:
    check_uuid(payload.get("event"), "the event to undo")


def _ticked(payload: dict[str, Any]) -> None:
    check_name(payload.get("statement"), "statement")
    if not isinstance(payload.get("ticked"), bool):
        raise BadValue(f"ticked is {payload.get('ticked')!r}; expected true or false")


def _written(payload: dict[str, Any]) -> None:
    check_name(payload.get("prompt"), "prompt")
    if not isinstance(payload.get("text"), str):
        raise BadValue(f"text is {payload.get('text')!r}; expected text")


def _measured(payload: dict[str, Any]) -> None:
    check_name(payload.get("experiment"), "experiment")
    rows = payload.get("rows")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadValue(f"a measurement of {payload['experiment']} has no rows; expected a list of objects, as in evidence files")
    for field in ("machine", "software", "noise"):
        if not isinstance(payload.get(field), dict):
            raise BadValue(f"a measurement has no {field!r}; it needs experiment, rows, machine, software and noise")


def _moment(value: object) -> None:
    try:
        good = isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        good = False
    if not good:
        raise BadValue(f"at is {value!r}; expected a time such as 2026-01-31T12:00:00Z")


# Every kind of event, and the check of its payload.
KINDS: dict[str, Callable[[dict[str, Any]], None] | None] = {
    "opened": None,
    "prediction": _prediction,
    "reflection": _question,
    "design": None,
    "context": _context,
    "challenge": None,
    "measured": _measured,
    "card": None,
    "reviewed": _reviewed,
    "undo": _undo,
    "ticked": _ticked,
    "written": _written,
    "named": _named,
    "reset": None,
}
