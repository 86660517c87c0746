"""Events in memory, for a page whose browser keeps them: the browser passes in what it holds, and is given what is new.

Whoever writes rows elsewhere calls `unsaved()` after each act, stores them, then `saved()`; if that failed, `take_back()`: then they
were never there. The chain is the same as in a database: an export from here is like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ironlaw.errors import AlreadyCommitted, LedgerDamaged
from ironlaw.ledger import export_format
from ironlaw.ledger.chain import CONTENT, Row, genesis, link, question_of, walk
from ironlaw.ledger.events import Event

TWICE = "one of these predictions was already committed; nothing was written; read the ledger again"


class MemoryStore:
    """`rows`: the values of chain.LINK, in order, as an earlier page stored them. LedgerDamaged if they are not as they were written."""

    def __init__(self, learner: str, since: str, rows: Iterable[Any] = (), place: str = "this page") -> None:
        self.learner, self.since, self.place = learner, since, place
        self.rows: list[Row] = []
        self._events: list[Event] = []
        self._known: set[Any] = set()  # ids, and what only one prediction can have
        self._saved = 0
        self.hear(rows)

    def where(self) -> str:
        return self.place

    def close(self) -> None:
        """Nothing is open."""

    @contextmanager
    def reading(self) -> Iterator[MemoryStore]:
        yield self

    @contextmanager
    def writing(self) -> Iterator[MemoryStore]:
        before = len(self.rows)
        try:
            yield self
        except BaseException:
            self._cut(before)
            raise

    # within a transaction

    def epoch(self, learner: str) -> int:
        return self.epochs().get(learner, 1)

    def epochs(self) -> dict[str, int]:
        newest: dict[str, int] = {}
        for event in self._events:
            newest[event.learner] = max(event.epoch, newest.get(event.learner, 1))
        return newest

    def events(self, lab: str | None = None, kind: str | None = None, every_epoch: bool = False) -> list[Event]:
        newest = {} if every_epoch else self.epochs()
        return [
            event
            for event in self._events
            if lab in (None, event.lab) and kind in (None, event.kind) and (every_epoch or event.epoch == newest[event.learner])
        ]

    def chained(self) -> tuple[list[Event], export_format.Chain]:
        return list(self._events), export_format.Chain(self.since, [row[-1] for row in self.rows])

    def append(self, events: Sequence[Event]) -> None:
        if len({key for event in events for key in _keys(event)} - self._known) < sum(len(_keys(event)) for event in events):
            raise AlreadyCommitted(TWICE)
        for event in events:
            content = export_format.stored(event)
            self._add((*content, question_of(event.kind, event.text), self.head, link(self.head, content)), event)

    # for whoever stores them

    @property
    def head(self) -> str:
        return str(self.rows[-1][-1]) if self.rows else genesis(self.learner, self.since)

    def hear(self, rows: Iterable[Any]) -> int:
        """Rows that are stored already, those after the ones that are known. How many there were."""
        fresh = [tuple(row) if isinstance(row, (list, tuple)) else () for row in rows]
        walked = walk(fresh, self.head)
        if walked.fault:
            error = LedgerDamaged(f"the ledger in {self.place} is damaged ({walked.fault})")
            error.reason = walked.fault
            raise error
        for row in fresh:
            item = dict(zip(CONTENT, row, strict=False))
            extra = json.loads(item["extra"]) if item["extra"] else {}
            self._add(row, Event(**{**item, "payload": json.loads(item["payload"]), "extra": extra}))
        self._saved = len(self.rows)
        return len(fresh)

    def unsaved(self) -> list[Row]:
        return self.rows[self._saved :]

    def saved(self) -> None:
        self._saved = len(self.rows)

    def take_back(self) -> int:
        """What could not be stored was never there. How many events that were."""
        lost = len(self.rows) - self._saved
        self._cut(self._saved)
        return lost

    def _add(self, row: Row, event: Event) -> None:
        self.rows.append(row)
        self._events.append(event)
        self._known.update(_keys(event))

    def _cut(self, length: int) -> None:
        for event in self._events[length:]:
            self._known.difference_update(_keys(event))
        del self.rows[length:], self._events[length:]


def _keys(event: Event) -> set[Any]:
    return {event.id, export_format.lock_of(event)} - {None}
