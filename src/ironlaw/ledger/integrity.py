"""Whether a ledger is as it was written: its chain, its head, the guards in the database. Quickly on opening, wholly on request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ironlaw.ledger import guards
from ironlaw.ledger.chain import LINK, Row, Walk, genesis, walk
from ironlaw.ledger.guards import Read

TAIL = 1_000  # events that are checked when a ledger is opened, from its end; most ledgers have fewer
COLUMNS = ", ".join(LINK)
GONE = tuple(f"{table} is missing" for table in guards.GUARDED)


@dataclass(frozen=True)
class Report:
    """`fault`: the first event, or else the part, that is not as it was written. `guards`: triggers and indexes that are not in place."""

    events: int
    head: str
    fault: str = ""
    guards: tuple[str, ...] = ()


def examine(read: Read, sqlite: bool, wholly: bool) -> Report:
    """Reads only. Without `wholly`, of the events only the last ones are followed."""
    problems = tuple(guards.missing(read, sqlite))
    if gone := [problem for problem in problems if problem in GONE]:
        return Report(0, "", "; ".join(gone), problems)
    owner, head = one(read("SELECT id, since FROM ironlaw_learner")), one(read("SELECT events, hash FROM ironlaw_head"))
    count = one(read("SELECT count(*) FROM ironlaw_events"))
    if owner is None or head is None or count is None:
        return Report(0, "", "the record of its owner, or of how many events there are, is missing", problems)
    start = genesis(str(owner[0]), str(owner[1]))
    if wholly or count[0] <= TAIL:
        walked = walk(read(f"SELECT {COLUMNS} FROM ironlaw_events ORDER BY seq"), start)
    else:
        last = [tuple(row) for row in read(f"SELECT {COLUMNS} FROM ironlaw_events ORDER BY seq DESC LIMIT {TAIL}")]
        walked = walk(reversed(last), None)
        walked = Walk(count[0] - TAIL + walked.events, walked.head, walked.fault)
    return Report(walked.events, walked.head, walked.fault or _end(walked, count[0], *head), problems)


def _end(walked: Walk, count: int, events: object, digest: object) -> str:
    """What is wrong at the end of the chain."""
    if walked.events != count:
        return f"of {count:,} events only {walked.events:,} can be read in order"
    if isinstance(events, int) and events > count and digest != walked.head:
        return f"the last {events - count:,} of {events:,} events are missing"
    if events != count or digest != walked.head:
        return f"the record of the last event does not agree with the {count:,} events that are there"
    return ""


def one(rows: Iterable[Any]) -> Row | None:
    first = next(iter(rows), None)
    return None if first is None else tuple(first)
