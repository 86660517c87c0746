"""Which operators of a model to measure, and in what order: those that take most of its time and of which least is known come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ironlaw.backends import require
from ironlaw.backends.evidence_moves import captured_params
from ironlaw.backends.rows import Row
from ironlaw.calibration import telling
from ironlaw.calibration.shared_errors import Trait
from ironlaw.calibration.traits import identity, trait
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph

MOST = 2000  # operators that are put in order; no model that was seen has more that differ


@dataclass(frozen=True)
class Operator:
    """One of a model's operators, however often it occurs. `call`: what it was captured from; None where that can't be made again."""

    params: dict[str, Any]  # as a row of evidence holds it
    call: Any
    count: int
    seconds: float  # of one occurrence, as predicted
    share: float  # of the model's time, all occurrences together
    seen: Trait


def operators(graph: Graph, calls: Sequence[Any], machine: Hardware) -> list[Operator]:
    """The operators that take time. `calls`: what each op of the graph was captured from."""
    library, found = require(machine.backend), dict[str, Operator]()
    predicted = predict(graph, machine, Plan())
    whole = sum(float(row.seconds) for row in predicted.ops) or 1.0
    for row, call in zip(predicted.ops, calls, strict=True):
        kernels = library.lower(row.op, machine, "eager")
        seconds, name = float(row.seconds), identity(row.op)
        if not kernels or seconds <= 0.0 or not name:
            continue
        one = found.get(name)
        if one is None:
            seen = trait(row.op, row.cost, kernels, library.signature(row.op, "eager"))
            one = Operator(captured_params(row.op), call, 0, seconds, 0.0, seen)
        found[name] = Operator(one.params, one.call or call, one.count + 1, seconds, one.share + seconds / whole, one.seen)
    return list(found.values())


def in_order(found: Sequence[Operator]) -> tuple[list[Operator], list[float]]:
    """The operators that can be called again, the most telling first, and how far off the model's operators are on average after each."""
    cases = [one for one in found if one.call is not None]
    if not cases:
        return [], []
    chosen, sds = telling.order([one.seen for one in cases], [one.seen for one in found], [one.share for one in found], [], MOST)
    return [cases[i] for i in chosen], sds


@dataclass
class MeasuredOperators:
    """What was measured of a model, and what is predicted for it without and with that."""

    target: str
    before: Prediction
    found: list[Operator]  # all that take time
    asked: list[Operator]  # those that can be called again, the most telling first
    sds: list[float]  # how far off operators are on average after each of them
    rows: list[Row] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # kind -> why it could not be timed
    disturbed: int = 0  # left out, because others used the machine
    after: Prediction | None = None
    stored: str = ""
    interrupted: bool = False

    @property
    def timed(self) -> list[tuple[Operator, Row]]:
        known = {_key(row.params): row for row in self.rows}
        return [(one, known[_key(one.params)]) for one in self.asked if _key(one.params) in known]

    @property
    def share(self) -> float:
        """The operator's share of the model's predicted time."""
        return sum(one.share for one, _ in self.timed)

    @property
    def minute(self) -> tuple[float, float] | None:
        """How far off operators are now, and after as many again; None where all were measured."""
        done = len(self.rows) + self.disturbed + len(self.failed)
        if not self.rows or done >= len(self.asked):
            return None
        return self.sds[done - 1], self.sds[min(2 * done, len(self.asked)) - 1]


def _key(params: Any) -> str:
    return repr(sorted(_as_read(params).items()))


def _as_read(value: Any) -> Any:
    """As JSON gives it back: a tuple is a list there."""
    if isinstance(value, dict):
        return {name: _as_read(each) for name, each in value.items()}
    return [_as_read(each) for each in value] if isinstance(value, (list, tuple)) else value
