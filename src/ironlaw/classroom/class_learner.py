"""A learner of the class: the ledger that counts, and what the report calls them."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.classroom.hand_in_file import HandIn
from ironlaw.classroom.learner_work import Work


@dataclass(frozen=True, slots=True)
class Learner:
    hand_in: HandIn
    label: str

    @property
    def work(self) -> Work:
        return self.hand_in.work
