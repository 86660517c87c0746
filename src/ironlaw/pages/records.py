"""What the ledger knows, as the gallery shows it: how far each lab is, and which one to continue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ironlaw.errors import IronlawError, LedgerDamaged, LedgerUnavailable
from ironlaw.ledger.events import local_time
from ironlaw.units import counted

STAGES = ("not started", "Act I", "Act II", "complete")
REVIEW = "review"  # it has cards instead of acts
FAULT = "{} while it was read. This is a bug in ironlaw. Everything is still there; download the export below and report it."
RECENT = 50  # events after which a notice about the ledger has been read


@dataclass(frozen=True)
class Standing:
    """How far a learner is in one lab: an index into STAGES, and the last thing done there."""

    stage: int = 0
    note: str = ""
    last: int = 0  # its last event's place in the ledger: the highest is where the learner left off
    fails: bool = False  # the saved design does not meet its goal

    @property
    def words(self) -> str:
        return STAGES[self.stage] + (f", {self.note}" if self.note else "")


@dataclass(frozen=True)
class Cards:
    """The review at one moment: how many cards are due, how many answers stand, when the next one comes back, with its zone."""

    due: int = 0
    answers: int = 0
    soon: str = ""

    @property
    def words(self) -> str:
        if not self.answers:
            return "not started"
        if self.due:
            return f"{self.due} card{'' if self.due == 1 else 's'} due"
        return f"nothing due; next card {local_time(self.soon):%Y-%m-%d %H:%M}" if self.soon else "nothing due"


@dataclass(frozen=True)
class Records:
    """The gallery's view of the ledger at one moment. `problem` says why it could not be read, `notice` that it was damaged once.

    `damaged`: what is left of it can be exported, and a reset sets it aside."""

    name: str = ""
    where: str = ""
    labs: dict[str, Standing] = field(default_factory=dict)
    events: int = 0
    problem: str = ""
    cards: Cards = field(default_factory=Cards)
    notice: str = ""
    damaged: bool = False

    def standing(self, slug: str) -> Standing:
        return self.labs.get(slug, Standing())

    def newest(self) -> str | None:
        """The lab that was worked on last and is not complete."""
        open_labs = {slug: standing for slug, standing in self.labs.items() if 0 < standing.stage < len(STAGES) - 1}
        return max(open_labs, key=lambda slug: open_labs[slug].last, default=None)


class Keeper:
    """Holds the ledger open for the process; if it could not be opened, the next request tries again."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.ledger: Any = None

    def open(self) -> Any:
        with self.turn:
            if self.ledger is None:
                from ironlaw.ledger import open_ledger  # SQLAlchemy is slow to import

                self.ledger = open_ledger()
            return self.ledger

    def records(self) -> Records:
        try:
            return records(self.open())
        except LedgerUnavailable as error:
            if isinstance(error, LedgerDamaged) or Path(self.where()).is_file():  # a file that is gone must not become an empty one
                self.close()  # the next request opens it again: a broken one is set aside, and one that a lab set aside was replaced
            return Records(where=self.where(), problem=str(error), damaged=isinstance(error, LedgerDamaged))
        except IronlawError as error:
            return Records(where=self.where(), problem=str(error))
        except Exception as error:  # a fault of ours: the page with export and reset must open all the same
            logging.getLogger(__name__).exception("the ledger's records could not be read")
            return Records(where=self.where(), problem=FAULT.format(type(error).__name__))

    def start_over(self) -> None:
        """A new epoch; a ledger that can't be read is set aside first."""
        try:
            self.open().reset()
        except LedgerDamaged:
            from ironlaw.ledger import repair

            self.close()
            repair()
            self.open().reset()

    def export(self) -> dict[str, Any]:
        """All events; what can be read of them, if the ledger is damaged."""
        try:
            data: dict[str, Any] = self.open().export()
        except LedgerDamaged:
            from ironlaw.ledger import rescue

            self.close()
            data, _ = rescue()
        return data

    def close(self) -> None:
        with self.turn:
            ledger, self.ledger = self.ledger, None
        if ledger is not None:
            ledger.close()

    @staticmethod
    def where() -> str:
        """Where the ledger is, even if it can't be opened."""
        from ironlaw.ledger import where

        with suppress(IronlawError):
            return where()
        return ""


def records(ledger: Any) -> Records:
    """The records as the ledger stands now."""
    events = ledger.events()
    return Records(ledger.learner_name() or "", ledger.where(), standings(events), len(events), "", cards(events), notice(ledger, events))


def standings(events: Sequence[Any]) -> dict[str, Standing]:
    """Each lab's standing from its events: Act II opens with Act I's reflection, and a saved design ends it."""
    from ironlaw.ledger.event_kinds import KINDS

    by_lab: dict[str, Standing] = {}
    for place, event in enumerate(events):
        if event.lab in ("", REVIEW) or event.kind not in KINDS or event.kind in ("named", "reset"):
            continue
        before = by_lab.get(event.lab, Standing())
        stage, note, fails = before.stage, before.note, before.fails
        if event.kind == "design":
            fails = _fails(event.payload.get("goals"))
            stage, note = 3, f"saved {local_time(event.time):%Y-%m-%d}" + ("; the design does not meet its goal" if fails else "")
        elif stage < 3:
            act = 2 if str(event.payload.get("question", "")).startswith("act2") else 1
            if event.kind == "prediction":
                stage, note = max(stage, act), "prediction committed"
            elif event.kind == "reflection":
                stage, note = 2, "reflection answered" if act == 2 else "begins"
            elif stage == 0:
                stage, note = 1, "opened"
        by_lab[event.lab] = Standing(stage, note, place, fails)
    return by_lab


def _fails(goals: Any) -> bool:
    held = goals.values() if isinstance(goals, dict) else ()
    return any(isinstance(each, dict) and each.get("meets") is False for each in held)


def notice(ledger: Any, events: Sequence[Any]) -> str:
    """What happened to the ledger, for as long as the learner may not have read it."""
    carried = next((event.payload for event in reversed(events[-RECENT:]) if event.kind == "carried"), None)
    if ledger.notice or carried is None:
        return str(ledger.notice)
    kept = f"{counted(carried['kept'], 'event')} {'was' if carried['kept'] == 1 else 'were'}"
    return (
        f"Your ledger was damaged ({carried['reason']}). {kept} carried over into a new one,"
        f" {carried['lost']:,} could not be. The old one is kept whole: {carried['from']}."
    )


def cards(events: Sequence[Any]) -> Cards:
    """What is due now. The cards and their schedule are imported only once a card was answered: the first page need not wait."""
    mine = [event for event in events if event.lab == REVIEW]
    if not any(event.kind == "reviewed" for event in mine):
        return Cards()
    from datetime import UTC

    from ironlaw.recall.record import reviews
    from ironlaw.recall.schedule import next_due
    from ironlaw.recall.schedule import standings as schedule

    now = datetime.now(UTC)
    answers = reviews(mine, now)
    standing = schedule(answers, now)
    soon = next_due(standing, now)
    due = sum(card.due is not None and card.due <= now for card in standing.values())
    return Cards(due, len(answers), soon.isoformat() if soon else "")
