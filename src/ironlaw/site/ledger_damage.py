"""A ledger in a browser that is not as it was written: it can be taken along whole, and what can be read of it goes on in a new one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.ledger.chain import LINK
from ironlaw.ledger.events import now
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.ledger.salvage import MOST_LOST, Salvage, record, select

FORMAT = "ironlaw-damaged-ledger/1"
UNKNOWN = {"learner": "", "since": ""}


def owner_of(text: str) -> dict[str, str]:
    """Whose ledger it is and since when, as it is stored; nobody's where that can't be read."""
    try:
        about = json.loads(text)
        return {name: str(about[name]) for name in UNKNOWN}
    except (ValueError, KeyError, TypeError):
        return UNKNOWN


def head_of(text: str) -> tuple[int, str]:
    """How many rows were stored, and the hash of the last; none where that can't be read."""
    try:
        about = json.loads(text)
        return min(int(about["events"]), MOST_LOST), str(about["hash"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return 0, ""


def missing_end(head: str, rows: Sequence[Sequence[Any]]) -> str:
    """What is wrong where rows that were stored are gone or others; empty if nothing is. An earlier version may have added some since."""
    events, digest = head_of(head)
    if events > len(rows):
        return f"{len(rows):,} of {events:,} events are there: the end is missing"
    return "" if events < 1 or rows[events - 1][-1] == digest else f"event {events:,} is not the one that was stored"


@dataclass(frozen=True)
class Damage:
    """What the browser holds, and what is wrong with it."""

    reason: str
    owner: str
    rows: list[Any]

    @property
    def words(self) -> str:
        return f"your ledger in this browser is damaged ({self.reason})"

    def file(self) -> dict[str, Any]:
        return {"format": FORMAT, "reason": self.reason, "owner": self.owner, "rows": self.rows}

    def carry(self, place: str, total: int, fallback: str) -> MemoryStore:
        """A new ledger with the events that are as they were written, and one that says so; nothing of it is stored yet.

        `total`: how many events there were, as far as is known; `fallback`: the learner's id where none can be read."""
        shaped = [tuple(row) for row in self.rows if isinstance(row, list) and len(row) == len(LINK)]
        total, learner = max(total, len(self.rows)), owner_of(self.owner)["learner"]
        owner = (learner,) if any(row[1] == learner for row in shaped) else None
        salvage = select(shaped, True, total, owner, None) or Salvage(fallback, [], total)
        store = MemoryStore(salvage.owner, now(), place=place)
        store.append(
            [*salvage.events, record(salvage, self.reason, f"in this browser, set aside on {now()[:16].replace('T', ' at ')} UTC")]
        )
        return store
