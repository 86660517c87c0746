"""A substitute for a ledger that could not be opened: the lab can be read, nothing can be committed, and it says why."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

from ironlaw.errors import LedgerUnavailable
from ironlaw.ledger import Event


class AbsentLedger:
    """Reads as an empty ledger; every write fails with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def where(self) -> str:
        return "nowhere"

    def events(self, lab: str | None = None, kind: str | None = None) -> list[Event]:
        return []

    def attempts(self, lab: str, question: str) -> list[Event]:
        return []

    answers = attempts

    def prediction(self, lab: str, question: str) -> None:
        return None

    def design(self, lab: str) -> None:
        return None

    def designs(self) -> dict[str, dict[str, Any]]:
        return {}

    def track(self, among: Collection[str] = ()) -> None:
        return None

    def append(self, *_: Any, **__: Any) -> NoReturn:
        raise LedgerUnavailable(f"nothing was committed: {self.reason}")

    commit_prediction = append
