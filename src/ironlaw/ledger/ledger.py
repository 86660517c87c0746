"""The ledger as labs see it. Every call reads the database again, so that two tabs see each other's events."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Select, and_, func, select

from ironlaw.errors import AlreadyCommitted, BadValue
from ironlaw.ledger import exchange, faults
from ironlaw.ledger.append import append_events
from ironlaw.ledger.chain import CONTENT
from ironlaw.ledger.database import Database
from ironlaw.ledger.events import Event, new, now, payload_fault
from ironlaw.ledger.kinds import KINDS
from ironlaw.ledger.place import place
from ironlaw.ledger.repair import open_database
from ironlaw.ledger.tables import events as table
from ironlaw.ledger.tables import learner

COLUMNS = [table.c[field] for field in CONTENT]


@dataclass(frozen=True)
class Progress:
    """A lab's progress in the current epoch: questions predicted and reflected on (each counted once), and whether a design is saved."""

    started: bool
    predictions: int
    reflections: int
    saved: bool
    last_event: Event | None


def open_ledger(url: str | os.PathLike[str] | None = None) -> Ledger:
    """Open the ledger at a path or a URL, or create it. None: IRONLAW_LEDGER, or else `ledger.db` in ironlaw's home folder."""
    return Ledger(*open_database(place(url)))


class Ledger:
    """Append-only. Threads may share one. A ledger belongs to one person: imported events count as theirs.

    `notice`: what the learner should know about the ledger's state, in plain words; empty if all is well.
    """

    def __init__(self, database: Database, learner: str, notice: str = "") -> None:
        self._database = database
        self.learner, self.notice = learner, notice

    def where(self) -> str:
        return str(self._database.place)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # writing

    def append(self, lab: str, kind: str, payload: dict[str, Any], attempt: int = 1) -> Event:
        """Returns only after the commit: the event is on disk."""
        if kind == "reset":
            raise BadValue("append does not begin a new epoch; call reset()")
        event = new(self.learner, 1, lab, attempt, kind, payload)  # checked before the writer's lock is taken
        with self._database.writing() as connection:
            event = replace(event, epoch=self._epoch(connection), time=now())
            if kind == "prediction":
                self._refuse_second(connection, event)
            append_events(connection, [event])
        return event

    def commit_prediction(
        self, lab: str, question: str, choice: Any, value: Any, confidence: int, correct: bool, attempt: int = 1,
        sealed: Mapping[str, Any] | None = None,
    ) -> Event:  # fmt: skip
        """Lock a prediction. AlreadyCommitted if that attempt has one; it can never be changed. `sealed`: an estimate or a drawn curve."""
        payload = {"question": question, "choice": choice, "value": value, "confidence": confidence, "correct": correct, **(sealed or {})}
        return self.append(lab, "prediction", payload, attempt)

    def reset(self) -> Event:
        """Begin a new epoch. Everything stays in the ledger, and in every export."""
        with self._database.writing() as connection:
            epochs = {self.learner: 1, **self._epochs(connection)}
            resets = [new(learner, epoch + 1, "", 1, "reset", {}) for learner, epoch in epochs.items()]
            append_events(connection, resets)
        return next(event for event in resets if event.learner == self.learner)

    def set_learner_name(self, name: str | None) -> Event:
        """None or "" removes the name."""
        return self.append("", "named", {"name": (name or "").strip()})

    # reading

    def events(self, lab: str | None = None, kind: str | None = None) -> list[Event]:
        """Those of the current epoch, in the order in which this ledger received them. One whose payload is not what its kind holds is
        left out: it stays in the ledger and in every export, and no reader has to expect it."""
        with self._database.reading() as connection:
            return self._view(connection, lab, kind)

    def history(self) -> list[Event]:
        """Those of every epoch."""
        with self._database.reading() as connection:
            return self._all(connection)

    def prediction(self, lab: str, question: str) -> Event | None:
        """The newest attempt."""
        attempts = self.attempts(lab, question)
        return attempts[-1] if attempts else None

    def attempts(self, lab: str, question: str) -> list[Event]:
        """The predictions, first attempt first."""
        return sorted((event for event in self.events(lab, "prediction") if event.question == question), key=lambda event: event.attempt)

    def answers(self, lab: str, question: str) -> list[Event]:
        """The reflections, oldest first."""
        return [event for event in self.events(lab, "reflection") if event.question == question]

    def design(self, lab: str) -> dict[str, Any] | None:
        """The newest saved design."""
        return self.designs().get(lab)

    def designs(self) -> dict[str, dict[str, Any]]:
        """By lab; the one that this ledger received last, whatever its date: a clock may have been wrong."""
        return {event.lab: event.payload for event in self.events(kind="design")}

    def track(self) -> str | None:
        """The context that was chosen last, in any lab."""
        choices = self.events(kind="context")
        return str(choices[-1].payload["context"]) if choices else None

    def learner_name(self) -> str | None:
        """A reset keeps the name."""
        with self._database.reading() as connection:
            names = _readable(self._events(connection, select(*COLUMNS).where(table.c.kind == "named")))
        return names[-1].payload["name"] or None if names else None

    def progress(self, lab: str) -> Progress:
        events = self.events(lab)
        questions = {kind: {event.question for event in events if event.kind == kind} for kind in ("prediction", "reflection")}
        saved = any(event.kind == "design" for event in events)
        return Progress(bool(events), len(questions["prediction"]), len(questions["reflection"]), saved, events[-1] if events else None)

    # to and from JSON

    def export(self) -> dict[str, Any]:
        """All events of all epochs, and whose ledger it is."""
        name = self.learner_name()
        with self._database.reading() as connection:
            since = connection.scalar(select(learner.c.since))
            stored = rows(connection, select(*COLUMNS, table.c.hash).order_by(table.c.seq))
        events = [self._event(*row[:-1]) for row in stored]
        return exchange.pack(self.learner, name, events, exchange.Chain(str(since), [row[-1] for row in stored]))

    def import_(self, data: Any) -> int:
        """Add what is missing here, all of it or nothing; returns how many events were new."""
        incoming = exchange.unpack(data)
        with self._database.writing() as connection:
            fresh = exchange.new_events(incoming, self._all(connection))
            append_events(connection, fresh)
        return len(fresh)

    # with a connection

    def _epoch(self, connection: Connection) -> int:
        return connection.scalar(select(func.max(table.c.epoch)).where(table.c.learner == self.learner)) or 1

    def _epochs(self, connection: Connection) -> dict[str, int]:
        return {row[0]: row[1] for row in connection.execute(select(table.c.learner, func.max(table.c.epoch)).group_by(table.c.learner))}

    def _view(self, connection: Connection, lab: str | None, kind: str | None) -> list[Event]:
        if kind is not None and kind not in KINDS:
            raise BadValue(f"no kind of event {kind!r}; known: {', '.join(KINDS)}")
        current = select(table.c.learner, func.max(table.c.epoch).label("epoch")).group_by(table.c.learner).subquery()
        wanted = select(*COLUMNS).join_from(table, current, and_(table.c.learner == current.c.learner, table.c.epoch == current.c.epoch))
        if lab is not None:
            wanted = wanted.where(table.c.lab == lab)
        if kind is not None:
            wanted = wanted.where(table.c.kind == kind)
        return _readable(self._events(connection, wanted))

    def _all(self, connection: Connection) -> list[Event]:
        return self._events(connection, select(*COLUMNS))

    def _events(self, connection: Connection, wanted: Select[Any]) -> list[Event]:
        return [self._event(*row) for row in rows(connection, wanted.order_by(table.c.seq))]

    def _event(self, id: str, learner: str, epoch: int, lab: str, attempt: int, kind: str, text: str, time: str, more: str | None) -> Event:
        try:
            payload, extra = json.loads(text), json.loads(more) if more else {}
        except (ValueError, TypeError):
            payload = extra = None
        if not isinstance(payload, dict) or not isinstance(extra, dict):
            raise faults.damaged(self._database.place, f"event {id} can't be read")
        return Event(id, learner, epoch, lab, attempt, kind, payload, time, extra)

    def _refuse_second(self, connection: Connection, event: Event) -> None:
        # the database's own lock is per learner; imported events may have another learner's id
        for other in self._view(connection, event.lab, "prediction"):
            if (other.question, other.attempt) == (event.question, event.attempt):
                raise AlreadyCommitted(
                    f"{event.lab}, {event.question}, attempt {event.attempt}: a prediction was already committed at {other.time};"
                    f" to try again, commit attempt {event.attempt + 1}"
                )


def rows(connection: Connection, wanted: Select[Any]) -> list[tuple[Any, ...]]:
    """As the driver gives them: texts and numbers need no conversion, and a large ledger has many."""
    result = connection.execute(wanted)
    try:
        return list(result.cursor.fetchall()) if result.cursor is not None else []
    finally:
        result.close()


def _readable(events: list[Event]) -> list[Event]:
    return [event for event in events if not payload_fault(event.kind, event.payload)]
