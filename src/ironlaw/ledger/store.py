"""What keeps the events: an SQL database (sql_store.py), or memory, for a page that writes them elsewhere (memory.py).

The ledger's own logic is above this; what is here only reads and adds rows, in the order in which the ledger received them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from ironlaw.ledger.events import Event
from ironlaw.ledger.export_format import Chain


class Rows(Protocol):
    """The events, within one transaction."""

    def epoch(self, learner: str) -> int:
        """The newest epoch of a learner, 1 where there is none."""

    def epochs(self) -> dict[str, int]:
        """Learner -> newest epoch."""

    def events(self, lab: str | None = None, kind: str | None = None, every_epoch: bool = False) -> list[Event]:
        """The events of each learner's newest epoch, or of all epochs."""

    def chained(self) -> tuple[list[Event], Chain]:
        """Every event, and the chain that holds them together."""

    def append(self, events: Sequence[Event]) -> None:
        """All of them or none; only while writing. AlreadyCommitted where an event or a prediction is there already."""


class Store(Protocol):
    def where(self) -> str: ...

    def reading(self) -> AbstractContextManager[Rows]: ...

    def writing(self) -> AbstractContextManager[Rows]:
        """One transaction, with every other writer locked out; undone if it ends with an error."""

    def close(self) -> None: ...
