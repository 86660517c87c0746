"""The ledger as JSON, to back up, move and merge. An import is checked field by field, and its chain link by link."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ironlaw.errors import BadExport, BadValue, EditedExport
from ironlaw.ledger.chain import genesis, link
from ironlaw.ledger.events import HIGHEST, MAX_COUNT, OUR_TIME, Event, check, encode, now, utc
from ironlaw.ledger.payload_fields import Id, Maybe, Record, Text, Whole

FORMAT = "ironlaw-ledger/2"
UNCHAINED = "ironlaw-ledger/1"  # as older versions wrote it, and as a rescue does: nothing in it can be checked against a chain
FIELDS = ("id", "learner", "epoch", "lab", "attempt", "kind", "payload", "time")
OURS = (*FIELDS, "hash")
NEXT = "import a file that `ironlaw ledger export` wrote"
MOST_LEARNERS = 200  # whose events one ledger holds; a reset writes an event for each
LEARNER = Record({"id": Id(), "name": Maybe(Text())})
CHAIN = Record({"since": Text(), "events": Whole(0, HIGHEST), "head": Text()})


@dataclass(frozen=True)
class Chain:
    """The chain of an export: since when the ledger exists, and each event's hash."""

    since: str
    hashes: Sequence[str]


def pack(learner: str, name: str | None, events: Sequence[Event], chain: Chain | None = None) -> dict[str, Any]:
    """`{"format", "exported", "learner": {"id", "name"}, "chain": {"since", "events", "head"}, "events": [...]}`, oldest event first."""
    head: dict[str, Any] = {"format": FORMAT if chain else UNCHAINED, "exported": now(), "learner": {"id": learner, "name": name}}
    items = [{**{field: getattr(event, field) for field in FIELDS}, **event.extra} for event in events]
    if chain:
        last = chain.hashes[-1] if chain.hashes else genesis(learner, chain.since)
        head["chain"] = {"since": chain.since, "events": len(items), "head": last}
        items = [{**item, "hash": digest} for item, digest in zip(items, chain.hashes, strict=True)]
    return {**head, "events": items}


def unpack(data: Any) -> list[Event]:
    """The events, each one checked; BadExport names the first that is invalid. Unknown fields are kept in `extra`.

    What a ledger exported with its chain can always be imported, even a payload that an earlier version accepted and none reads.
    """
    _has(data, ("format", "exported", "learner", "events"), "the file")
    if data["format"] not in (FORMAT, UNCHAINED):
        raise BadExport(f"the format is {data['format']!r}, and this ironlaw reads {FORMAT!r}; if the file is newer, upgrade ironlaw")
    parse_time(data["exported"], "exported")
    if fault := LEARNER.fault(data["learner"], "learner"):
        raise BadExport(f"learner: {fault}; {NEXT}")
    if not isinstance(data["events"], list):
        raise BadExport("events is not a list; export the ledger again")
    chained = data["format"] == FORMAT
    if chained and not CHAIN.fault(data.get("chain"), "chain") and data["chain"]["events"] == len(data["events"]):
        from ironlaw.ledger import quick_unpack  # a page that opens a lab reads no export

        plain = quick_unpack.events(data["events"], data["learner"]["id"], data["chain"]["since"], data["chain"]["head"])
        if plain is not None:
            return plain
    events = [_event(item, f"event {number}", not chained) for number, item in enumerate(data["events"], 1)]
    if chained:
        _check_chain(data, events)
    return events


def _check_chain(data: dict[str, Any], events: Sequence[Event]) -> None:
    """Each event's hash anew, from the owner's id on. EditedExport names the first that differs."""
    if fault := CHAIN.fault(data.get("chain"), "chain"):
        raise BadExport(f"{fault}; {NEXT}")
    chain, digest = data["chain"], genesis(data["learner"]["id"], data["chain"]["since"])
    for number, (item, event) in enumerate(zip(data["events"], events, strict=True), 1):
        digest = link(digest, stored(event))
        if item.get("hash") != digest:
            raise _edited(
                f"event {number} ({event.kind}, {event.time}) was changed after it was exported, or an earlier one was removed:"
                " its hash does not match"
            )
    if (chain["events"], chain["head"]) != (len(events), digest):
        raise _edited(f"the file has {len(events):,} events of {chain['events']:,}")


def _edited(reason: str) -> EditedExport:
    error = EditedExport(f"{reason}; nothing was imported; export again from the original ledger")
    error.reason = reason
    return error


def stored(event: Event) -> tuple[Any, ...]:
    """An event as the database holds it: the values of chain.CONTENT."""
    extra = encode(event.extra) if event.extra else None
    return event.id, event.learner, event.epoch, event.lab, event.attempt, event.kind, event.text, event.time, extra


def new_events(incoming: Sequence[Event], existing: Iterable[Event]) -> list[Event]:
    """Incoming events that do not exist yet, in order. BadExport where the two contradict each other."""
    known = {event.id: event for event in existing}
    locks = {lock: event.id for event in known.values() if (lock := lock_of(event))}
    most = MAX_COUNT + len(known) + len(incoming)  # every reset and every attempt is an event, so that the next one is valid as well
    fresh: list[Event] = []
    for event in incoming:
        if event.id in known:
            if _content(event) != _content(known[event.id]):
                raise BadExport(
                    f"event {event.id} ({event.kind}, {event.time}) differs from the one in the ledger, and events never change;"
                    " nothing was imported; export again from the original ledger"
                )
            continue
        if max(event.epoch, event.attempt) > most:
            raise BadExport(f"event {event.id}: epoch {event.epoch:,} or attempt {event.attempt:,} is too large to be a learner's; {NEXT}")
        lock = lock_of(event)
        if lock and locks.setdefault(lock, event.id) != event.id:
            raise BadExport(
                f"event {event.id} is a second prediction for {event.lab}, {event.question}, attempt {event.attempt}, and the first one"
                " stands; nothing was imported; import the file into a ledger of its own (IRONLAW_LEDGER) to look at it"
            )
        known[event.id] = event
        fresh.append(event)
    if len(learners := {event.learner for event in known.values()}) > MOST_LEARNERS and fresh:
        raise BadExport(f"the ledger would hold events of {len(learners):,} ledgers, and {MOST_LEARNERS} is the most; {NEXT}")
    return fresh


def _event(item: Any, what: str, strict: bool) -> Event:
    _has(item, FIELDS, what)
    extra = {key: item[key] for key in item if key not in OURS}
    time = parse_time(item["time"], what)
    event = Event(item["id"], item["learner"], item["epoch"], item["lab"], item["attempt"], item["kind"], item["payload"], time, extra)
    try:
        check(event, strict=strict)
        if extra:
            encode(extra)
        event.text  # noqa: B018 - it raises if the payload is not JSON that can be stored
    except BadValue as error:
        raise BadExport(f"{what}: {error}; nothing was imported") from None
    return event


def _has(value: Any, names: tuple[str, ...], what: str) -> None:
    if not isinstance(value, dict):
        raise BadExport(f"{what} is not a JSON object; {NEXT}")
    for name in names:
        if name not in value:
            raise BadExport(f"{what} has no {name!r}; {NEXT}")


def parse_time(value: Any, what: str) -> str:
    """The same moment in the ledger's format."""
    try:
        moment = datetime.fromisoformat(value)
        if OUR_TIME.fullmatch(value):
            return str(value)
        if moment.tzinfo is not None:
            return utc(moment)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadExport(f"{what}: the time {value!r} is not ISO 8601 with an offset from UTC, such as 2026-01-31T12:00:00Z")


def lock_of(event: Event) -> tuple[Any, ...] | None:
    """What only one prediction can have."""
    return (event.learner, event.epoch, event.lab, event.question, event.attempt) if event.kind == "prediction" else None


def _content(event: Event) -> str:
    return json.dumps(asdict(event), sort_keys=True)
