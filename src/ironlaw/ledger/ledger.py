"""The ledger as labs see it. Every call reads the store again, so that two tabs see each other's events."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.errors import AlreadyCommitted, BadValue
from ironlaw.ledger import export_format
from ironlaw.ledger.event_kinds import KINDS
from ironlaw.ledger.events import Event, new, now, payload_fault
from ironlaw.ledger.store import Rows, Store


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
    from ironlaw.ledger import opening
    from ironlaw.ledger.place import place  # SQLAlchemy is slow to import, and a page in a browser has none
    from ironlaw.ledger.restore import open_database
    from ironlaw.ledger.sql_store import SqlStore

    database, learner, notice = open_database(place(url))
    return Ledger(SqlStore(database, opening.HEAD), learner, notice)


class Ledger:
    """Append-only. Threads may share one. A ledger belongs to one person: imported events count as theirs.

    `notice`: what the learner should know about the ledger's state, in plain words; empty if all is well.
    """

    def __init__(self, store: Store, learner: str, notice: str = "") -> None:
        self.store, self.learner, self.notice = store, learner, notice

    def where(self) -> str:
        return self.store.where()

    def close(self) -> None:
        self.store.close()

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
        with self.store.writing() as rows:
            event = replace(event, epoch=rows.epoch(self.learner), time=now())
            if kind == "prediction":
                self._refuse_second(rows, event)
            rows.append([event])
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
        with self.store.writing() as rows:
            epochs = {self.learner: 1, **rows.epochs()}
            resets = [new(learner, epoch + 1, "", 1, "reset", {}) for learner, epoch in epochs.items()]
            rows.append(resets)
        return next(event for event in resets if event.learner == self.learner)

    def set_learner_name(self, name: str | None) -> Event:
        """None or "" removes the name."""
        return self.append("", "named", {"name": (name or "").strip()})

    # reading

    def events(self, lab: str | None = None, kind: str | None = None) -> list[Event]:
        """The events of the current epoch, in the order in which this ledger received them. One whose payload is not what its kind holds is
        left out: it stays in the ledger and in every export, and no reader has to expect it."""
        with self.store.reading() as rows:
            return self._view(rows, lab, kind)

    def history(self) -> list[Event]:
        """The events of every epoch."""
        with self.store.reading() as rows:
            return rows.events(every_epoch=True)

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
        """The design of each lab; the one that this ledger received last, whatever its date: a clock may have been wrong."""
        return {event.lab: event.payload for event in self.events(kind="design")}

    def track(self, among: Collection[str] = ()) -> str | None:
        """The context that was chosen last, in any lab; of those `among` which one asks, if any are given: a data set is not a device."""
        choices = [str(event.payload["context"]) for event in self.events(kind="context")]
        return next((choice for choice in reversed(choices) if not among or choice in among), None)

    def learner_name(self) -> str | None:
        """A reset keeps the name."""
        with self.store.reading() as rows:
            names = _readable(rows.events(kind="named", every_epoch=True))
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
        with self.store.reading() as rows:
            events, chain = rows.chained()
        return export_format.pack(self.learner, name, events, chain)

    def import_(self, data: Any) -> int:
        """Add what is missing here, all of it or nothing; returns how many events were new."""
        incoming = export_format.unpack(data)
        with self.store.writing() as rows:
            fresh = export_format.new_events(incoming, rows.events(every_epoch=True))
            rows.append(fresh)
        return len(fresh)

    # within a transaction

    def _view(self, rows: Rows, lab: str | None, kind: str | None) -> list[Event]:
        if kind is not None and kind not in KINDS:
            raise BadValue(f"no kind of event {kind!r}; known: {', '.join(KINDS)}")
        return _readable(rows.events(lab, kind))

    def _refuse_second(self, rows: Rows, event: Event) -> None:
        # the store's own lock is per learner; imported events may have another learner's id
        for other in self._view(rows, event.lab, "prediction"):
            if (other.question, other.attempt) == (event.question, event.attempt):
                raise AlreadyCommitted(
                    f"{event.lab}, {event.question}, attempt {event.attempt}: a prediction was already committed at {other.time};"
                    f" to try again, commit attempt {event.attempt + 1}"
                )


def _readable(events: list[Event]) -> list[Event]:
    return [event for event in events if not payload_fault(event.kind, event.payload)]
