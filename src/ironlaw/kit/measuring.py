"""The part of a Lab that measures: which experiments an act offers, their results, and notifying the page of a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.errors import LedgerError
from ironlaw.kit import experiment, host, local_runs, step
from ironlaw.kit.context import DATA
from ironlaw.kit.instrument import Instrument
from ironlaw.kit.learner_record import LearnerRecord
from ironlaw.kit.local_runs import Measured
from ironlaw.kit.process import JOBS
from ironlaw.registry.machines import known_local


class Measuring(LearnerRecord):
    instruments: dict[str, Instrument]
    elements: dict[str, Any]
    trouble: str
    measured: dict[str, Measured]
    notify: Callable[..., None]
    go_on: Callable[[str], str]
    _show: Callable[..., Any]
    _runs_known: int

    def _recall(self) -> None:
        """Read the runs from the ledger: when the lab opens and when a run has ended, not with every turn of a dial."""
        self._runs_known = JOBS.finished
        try:
            self.measured = local_runs.newest(self.ledger)
        except LedgerError as error:
            self.measured, self.trouble = {}, str(error)

    def local_run(self, name: str) -> Measured | None:
        """The newest run of an experiment on this machine."""
        return self.measured.get(name)

    def measuring(self, act: str, captions: Mapping[str, Callable[[Measured], str]]) -> Any:
        """`captions`: experiment -> what to say about a result, as Markdown. This machine itself is offered until it is measured,
        where the lab is about devices."""
        items: list[experiment.Item | experiment.Machine] = [experiment.Item(name, caption) for name, caption in captions.items()]
        if self.current_context.regime != DATA and known_local() is None:
            items.append(experiment.Machine(lambda: known_local() is not None))
        if not items:
            return host.html(step.step(act, "measure", self.go_on(f"{act}.claims")))
        piece = experiment.measure(act, items, self.local_run, self._keep, self._on_run_end, lambda: self.prediction(act) is not None)
        return self._show(f"{act}.measure", piece, act, "measure", "Measure it here", then=self.go_on(f"{act}.claims"))

    def _keep(self, result: dict[str, Any]) -> None:
        self.ledger.append(self.slug, "measured", result)

    def _on_run_end(self) -> None:
        """A run has ended: draw it on the instruments, tell the cells that name the state "measured", and the other acts' pieces."""
        if self._runs_known == JOBS.finished:
            return
        self._recall()
        for instrument in self.instruments.values():
            if not instrument.piece.spec.get("locked"):
                instrument.piece.refresh()
        for name, element in self.elements.items():
            if name.endswith(".measure"):
                element.widget.refresh()
        self.notify("measured")
