"""The ledgers of a hub while its learners work: a schema of PostgreSQL for each (ironlaw.ledger.hub_ledger).

Each look asks how much was written to each schema, and reads those that have grown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ironlaw.classroom.hand_in_file import LARGEST, HandIn, Name, Refusal, ledger_of
from ironlaw.classroom.hand_ins import HandIns, together
from ironlaw.classroom.learner_work import printable
from ironlaw.errors import BadValue, LedgerUnavailable
from ironlaw.ledger import hub_ledger, hub_reading
from ironlaw.ledger.place import place

AGAIN_S = 60.0  # what a server counts may be late or lost: each ledger is read once more after so long
LATER_S, LATEST_S = 10.0, 600.0  # after a ledger that could not be read


@dataclass
class _Kept:
    written: int
    read_at: float
    result: HandIn | Refusal
    failed: int = 0


class Hub:
    """`look()` says whether anything has changed, `hand_ins()` what there is. `key`: the hub's IRONLAW_LEDGER_KEY."""

    def __init__(self, admin: str, key: str, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.admin, self.key, self.idle_s, self.clock = place(admin), key, idle_s, clock
        if self.admin.path is not None:
            raise BadValue(f"{self.admin} is not a database; give the folder of the hand-ins, or postgresql://USER@HOST/DATABASE")
        if len(key) < hub_ledger.SHORTEST_KEY:
            raise BadValue("the ledgers' passwords follow from the hub's key; set IRONLAW_LEDGER_KEY as it is in the hub's environment")
        self._kept: dict[str, _Kept] = {}

    def look(self) -> bool:
        users = hub_reading.users(self.admin)
        gone = self._kept.keys() - users.keys()
        for user in gone:
            del self._kept[user]
        changed = bool(gone)
        for user, written in users.items():
            before = self._kept.get(user)
            if before is not None and not self._due(before, written):
                continue
            result = self._read(user)
            failed = isinstance(result, Refusal) and result.kind == "unreadable"
            if before is not None and failed and isinstance(before.result, HandIn):
                result = before.result  # what was read before stays
            changed = changed or before is None or before.result != result
            self._kept[user] = _Kept(written, self.clock(), result, (before.failed if before else 0) + 1 if failed else 0)
        return changed

    def hand_ins(self) -> HandIns:
        return together((kept.result for kept in self._kept.values()), lambda one, known: self._read(one.name, known), idle_s=self.idle_s)

    def _due(self, kept: _Kept, written: int) -> bool:
        since = self.clock() - kept.read_at
        if kept.failed:
            return since >= min(LATEST_S, LATER_S * 2.0 ** (kept.failed - 1))
        return kept.written != written or since >= AGAIN_S

    def _read(self, user: str, known: frozenset[Name] | None = None) -> HandIn | Refusal:
        shown = printable(user)
        try:
            data = hub_reading.export_of(self.admin, user, self.key, LARGEST)
        except LedgerUnavailable as error:
            return Refusal(shown, "unreadable", printable(str(error), 300))
        except (ValueError, TypeError, RecursionError) as error:
            return Refusal(shown, "damaged", f"its tables do not hold a ledger ({printable(str(error), 120)})")
        if data is None:
            return Refusal(shown, "empty", "no lab was opened yet")
        read = ledger_of(data, shown, self.idle_s, known)
        # here the schema says whose it is; an id can be copied
        return replace(read, name=user, stated=user, learner=hub_ledger.schema_of(user)) if isinstance(read, HandIn) else read
