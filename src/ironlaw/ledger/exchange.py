"""The ledger as JSON, to back up, move and merge. An import is checked field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ironlaw.errors import BadExport, IronlawError
from ironlaw.ledger.events import Event, check, check_uuid, encode, now, utc

FORMAT = "ironlaw-ledger/1"
FIELDS = ("id", "learner", "epoch", "lab", "attempt", "kind", "payload", "time")


def pack(learner: str, name: str | None, events: Iterable[Event]) -> dict[str, Any]:
    """`{"format", "exported", "learner": {"id", "name"}, "events": [...]}`, oldest event first."""
    return {
        "format": FORMAT,
        "exported": now(),
        "learner": {"id": learner, "name": name},
        "events": [{field: getattr(event, field) for field in FIELDS} for event in events],
    }


def unpack(data: Any) -> list[Event]:
    """The events, each one checked; BadExport names the first that is invalid."""
    _fields(data, ("format", "exported", "learner", "events"), "the file")
    if data["format"] != FORMAT:
        raise BadExport(f"the format is {data['format']!r}, and this ironlaw reads {FORMAT!r}; if the file is newer, upgrade ironlaw")
    parse_time(data["exported"], "exported")
    _fields(data["learner"], ("id", "name"), "learner")
    if not isinstance(data["learner"]["name"], (str, type(None))):
        raise BadExport(f"learner: name is {data['learner']['name']!r}; expected text or null")
    if not isinstance(data["events"], list):
        raise BadExport("events is not a list; export the ledger again")
    try:
        check_uuid(data["learner"]["id"], "id")
    except IronlawError as error:
        raise BadExport(f"learner: {error}") from None
    return [_event(item, f"event {number}") for number, item in enumerate(data["events"], 1)]


def new_events(incoming: Iterable[Event], existing: Iterable[Event]) -> list[Event]:
    """Incoming events that do not exist yet, in order. BadExport where the two contradict each other."""
    known = {event.id: event for event in existing}
    locks = {lock: event.id for event in known.values() if (lock := _lock(event))}
    fresh: list[Event] = []
    for event in incoming:
        if event.id in known:
            if _content(event) != _content(known[event.id]):
                raise BadExport(
                    f"event {event.id} ({event.kind}, {event.time}) differs from the one in the ledger, and events never change;"
                    " nothing was imported; export again from the original ledger"
                )
            continue
        lock = _lock(event)
        if lock and locks.setdefault(lock, event.id) != event.id:
            raise BadExport(
                f"event {event.id} is a second prediction for {event.lab}, {event.question}, attempt {event.attempt}, and the first one"
                " stands; nothing was imported; import the file into a ledger of its own (IRONLAW_LEDGER) to look at it"
            )
        known[event.id] = event
        fresh.append(event)
    return fresh


def _event(item: Any, what: str) -> Event:
    _fields(item, FIELDS, what)
    event = Event(**{**item, "time": parse_time(item["time"], what)})
    try:
        check(event)
        encode(event.payload)
    except IronlawError as error:
        raise BadExport(f"{what}: {error}; nothing was imported") from None
    return event


def _fields(value: Any, names: tuple[str, ...], what: str) -> None:
    if not isinstance(value, dict):
        raise BadExport(f"{what} is not a JSON object; import a file that `ironlaw ledger export` wrote")
    for name in names:
        if name not in value:
            raise BadExport(f"{what} has no {name!r}; import a file that `ironlaw ledger export` wrote")
    for name in value:
        if name not in names:
            raise BadExport(f"{what} has an unknown field {name!r}; if the file is newer than this ironlaw, upgrade ironlaw")


def parse_time(value: Any, what: str) -> str:
    """The same moment in the ledger's format."""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return utc(moment)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadExport(f"{what}: the time {value!r} is not ISO 8601 with an offset from UTC, such as 2026-01-31T12:00:00Z")


def _lock(event: Event) -> tuple[Any, ...] | None:
    return (event.learner, event.epoch, event.lab, event.question, event.attempt) if event.kind == "prediction" else None


def _content(event: Event) -> str:
    return json.dumps(event.__dict__, sort_keys=True)
