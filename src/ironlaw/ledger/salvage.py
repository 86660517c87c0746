"""The events that are as they were written, out of rows that may be damaged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.ledger import chain, export_format
from ironlaw.ledger.events import Event, check, new, payload_fault
from ironlaw.ledger.payload_fields import Id

MOST_LOST = 10**9  # as the event holds it: a damaged number may say anything


@dataclass(frozen=True)
class Salvage:
    """Events that are as they were written, whose ledger it was, and how many events are known to be lost."""

    owner: str
    events: Sequence[Event]
    lost: int

    @property
    def name(self) -> str | None:
        names = [event.payload["name"] for event in self.events if event.kind == "named" and not payload_fault("named", event.payload)]
        return names[-1] or None if names else None


def select(rows: Sequence[chain.Row], chained: bool, total: int, owner: chain.Row | None, last: chain.Row | None) -> Salvage | None:
    """The events that are as they were written, among the rows that could be read. `total`: how many there were, as far as is known.
    None where no event can be read."""
    intact = chain.intact(list(rows)) if chained else [True] * len(rows)
    remains = _first_of_each(event for row, whole in zip(rows, intact, strict=True) if whole and (event := _event(row)))
    mine = str(owner[0]) if owner else ""
    if not Id().valid(mine):
        mine = Counter(event.learner for event in remains).most_common(1)[0][0] if remains else ""
    if not mine:
        return None
    links = [(row[-2], before[-1]) for before, row in pairwise(rows)]
    gap = not rows or rows[-1][-1] != (last and last[1]) or any(prev != digest for prev, digest in links)
    if last and isinstance(last[0], int) and last[0] > total and gap:  # without a gap, it is the count that was changed
        total = last[0]
    return Salvage(mine, remains, total - len(remains))


def _first_of_each(events: Iterable[Event]) -> list[Event]:
    """The events without a second one of the same id, or a second prediction for the same question: their index may have been dropped."""
    chosen: list[Event] = []
    known: set[Any] = set()
    for event in events:
        keys = {event.id, export_format.lock_of(event)} - {None}
        if not keys & known:
            chosen.append(event)
            known |= keys
    return chosen


def _event(row: chain.Row) -> Event | None:
    """None if it is incomplete: then it counts as lost."""
    try:
        item = dict(zip(chain.CONTENT, row, strict=False))
        extra = json.loads(item["extra"]) if item["extra"] else {}
        event = Event(**{**item, "payload": json.loads(item["payload"]), "extra": extra})
        check(event, strict=False)
        return event if export_format.parse_time(event.time, "time") == event.time and event.text else None
    except (IronlawError, ValueError, TypeError):
        return None


def record(salvage: Salvage, reason: str, old_name: str) -> Event:
    """The event that says so in the new ledger, and in every export of it."""
    epoch = max((event.epoch for event in salvage.events if event.learner == salvage.owner), default=1)
    payload = {"from": old_name, "reason": reason[:1000], "kept": len(salvage.events), "lost": min(salvage.lost, MOST_LOST)}
    return new(salvage.owner, epoch, "", 1, "carried", payload)


def explain_damage(old_name: str, reason: str, salvage: Salvage) -> str:
    """A broken ledger in plain words."""
    count, lost = len(salvage.events), salvage.lost
    missing = "none is missing" if not lost else f"{lost:,} could not: {'it was' if lost == 1 else 'they were'} changed or can't be read"
    return (
        f"Your ledger was damaged ({reason}). {count:,} event{'' if count == 1 else 's'} could be carried over into a new one; {missing}."
        f" The old one is kept whole: {old_name}. If you have a newer export, import it."
    )
