"""An event, and what makes one valid. The same checks run before a write, before an import, and before a lab gets to see one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any
from uuid import uuid4

from ironlaw.errors import BadValue, unknown
from ironlaw.ledger.event_kinds import KINDS
from ironlaw.ledger.payload_fields import Id, Name, Whole

MAX_PAYLOAD = 1_000_000  # characters of JSON; a design has a few hundred
MAX_COUNT = 1_000_000  # attempts and epochs of an import: beyond any learner
HIGHEST = 2**31 - 1  # what both databases can store; an import leaves room for as many resets and attempts as anyone can make
LONGEST_NUMBER = 300  # digits of a whole number: every one of them is also a float
OUR_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_LONG = re.compile(rf"\d{{{LONGEST_NUMBER + 1}}}")
_ID, _NAME, _KIND, _COUNT = Id(), Name(), Name(50), Whole(1, HIGHEST)
_encode = json.JSONEncoder(allow_nan=False).encode


@dataclass(frozen=True)
class Event:
    """One thing that happened. `epoch` counts the resets of its learner from 1; `time` is UTC, ISO 8601, in microseconds.

    `extra`: fields that a newer ironlaw gave it; they are kept and ignored.
    """

    id: str
    learner: str
    epoch: int
    lab: str
    attempt: int
    kind: str
    payload: dict[str, Any]
    time: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> str | None:
        """The question that a prediction or a reflection answers."""
        name = self.payload.get("question")
        return name if isinstance(name, str) else None

    @cached_property
    def text(self) -> str:
        """The payload as it is stored."""
        return encode(self.payload)


def new(learner: str, epoch: int, lab: str, attempt: int, kind: str, payload: dict[str, Any]) -> Event:
    """An event that happens now. Its payload is a copy that has been through JSON."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown("kind of event", kind, KINDS)
    event = Event(str(uuid4()), learner, epoch, lab, attempt, kind, payload, now())
    check(event)
    return replace(event, payload=json.loads(encode(payload)))


def now() -> str:
    return utc(datetime.now(UTC))


def utc(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def local_time(time: str, zone: tzinfo | None = None) -> datetime:
    """A time of the ledger on the clock of `zone`, else of this machine. One at the end of the calendar stays in UTC."""
    moment = datetime.fromisoformat(time)
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def encode(payload: dict[str, Any]) -> str:
    """As JSON: ASCII, so that every database stores it unchanged; keys keep their order."""
    try:
        text = _encode(payload)
        if "\\ud" in text:
            json.dumps(payload, ensure_ascii=False).encode()  # half a surrogate pair can't be encoded
    except (TypeError, ValueError, RecursionError) as error:
        raise BadValue(f"a payload must be JSON: {error}; use text, finite numbers, true, false, null, lists and objects") from None
    if len(text) > MAX_PAYLOAD:
        raise BadValue(f"a payload of {len(text):,} characters is too large; keep it under {MAX_PAYLOAD:,}")
    if len(text) > LONGEST_NUMBER and _LONG.search(text) and _too_long(payload):
        raise BadValue(f"a payload has a whole number of more than {LONGEST_NUMBER} digits; write it as text")
    return text


def check(event: Event, most: int = HIGHEST, strict: bool = True) -> None:
    """BadValue if anything about it is invalid. A kind that is not known is valid, whatever its payload. Without `strict`, any payload is:
    an earlier version accepted it, and readers pass over it."""
    count = _COUNT if most == HIGHEST else Whole(1, most)
    fault = (
        _KIND.fault(event.kind, "kind")
        or _ID.fault(event.id, "id")
        or _ID.fault(event.learner, "learner")
        or count.fault(event.epoch, "epoch")
        or count.fault(event.attempt, "attempt")
        or (_NAME.fault(event.lab, "lab") if event.lab != "" or (event.kind in KINDS and event.kind not in NO_LAB) else "")
        or (payload_fault(event.kind, event.payload) if strict or not isinstance(event.payload, dict) else "")
    )
    if fault:
        raise BadValue(fault)


NO_LAB = ("named", "reset", "carried")  # kinds that belong to no lab


def payload_fault(kind: str, payload: Any) -> str:
    """What is wrong with the payload of such an event; empty if nothing is."""
    if not isinstance(payload, dict):
        return f"a payload is an object, not {payload!r}"
    rule = KINDS.get(kind)
    return "" if rule is None or rule.valid(payload) else rule.fault(payload, f"the payload of {kind!r}")


def _too_long(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_too_long(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_too_long(inner) for inner in value)
    return isinstance(value, int) and abs(value) >= 10**LONGEST_NUMBER
