"""What was measured on the learner's own machine, for one lab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ironlaw.errors import LedgerError
from ironlaw.kit.process import JOBS

if TYPE_CHECKING:
    from ironlaw.kit.measured_run import Measured


class Experiments:
    """`measured`: experiment -> its newest run."""

    def __init__(self, slug: str, ledger: Any) -> None:
        self.slug, self.ledger = slug, ledger
        self.trouble = ""
        self.recall()

    def recall(self) -> None:
        """Read the runs from the ledger: when the lab opens and when a run has ended, not with every turn of a dial."""
        self._known = JOBS.finished
        self.measured: dict[str, Measured] = {}
        try:
            if self.ledger.events(kind="measured"):
                from ironlaw.kit.local_runs import newest  # here: most learners have measured nothing

                self.measured = newest(self.ledger)
        except LedgerError as error:
            self.trouble = str(error)

    @property
    def are_known(self) -> bool:
        """Whether no run has ended since."""
        return self._known == JOBS.finished

    def local_run(self, name: str) -> Measured | None:
        """The newest run of an experiment on this machine."""
        return self.measured.get(name)

    def keep(self, result: dict[str, Any]) -> None:
        self.ledger.append(self.slug, "measured", result)
