"""What the learner measured on this machine, read from the ledger: the newest run of each experiment, and its rows by their fields."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.cards import MINUS
from ironlaw.ledger import Event
from ironlaw.ledger.event_kinds import ROW
from ironlaw.measure.software_host import cores, cpu_name, in_browser
from ironlaw.units import significant
from ironlaw.widget.quantities import THIN, format_quantity


@dataclass(frozen=True)
class Measured:
    """One run of one experiment."""

    experiment: str
    library: str
    rows: tuple[Mapping[str, Any], ...]
    machine: Mapping[str, Any]
    software: Mapping[str, Any]
    noise: Mapping[str, Any]
    time: str

    @property
    def source(self) -> str:
        """`measured here, NumPy 2.1.3, 2026-11-15`; in a browser, which can't measure, on what it was measured."""
        where = f"on {self.machine.get('cpu', 'your machine')}" if in_browser() else "here"
        return f"measured {where}, {self.library}, {self.time[:10]}"

    @property
    def noisy(self) -> bool:
        return bool(self.noise.get("noisy"))

    @property
    def verdict(self) -> str:
        """How far the figures can be trusted."""
        reasons = "; ".join(str(reason) for reason in self.noise.get("reasons", ()))
        return f"Noisy: {reasons}. Close other programs and measure again." if self.noisy else "The machine was quiet enough."

    def all(self, **conditions: Any) -> Iterator[Mapping[str, Any]]:
        """The rows whose fields, or fields of `params`, have these values."""
        for row in self.rows:
            fields = {**row.get("params", {}), **row}
            if all(fields.get(key) == value for key, value in conditions.items()):
                yield row

    def row(self, **conditions: Any) -> Mapping[str, Any] | None:
        return next(self.all(**conditions), None)

    def ways(self) -> list[str]:
        """The fused modes, in the order in which they ran."""
        return list(dict.fromkeys(str(row["mode"]) for row in self.rows if row.get("mode", "eager") != "eager"))


def read_event(event: Event) -> Measured:
    payload = event.payload
    return Measured(
        str(payload["experiment"]), str(payload.get("library", "")), tuple(row for row in payload["rows"] if row["kind"] in ROW.kinds),
        payload["machine"], payload["software"], payload["noise"], event.time,
    )  # fmt: skip


def newest(ledger: Any) -> dict[str, Measured]:
    """Experiment -> its newest run on this machine, from any lab; in a browser, on the learner's own, wherever that is. One that lacks
    what its experiment measures is passed over."""
    runs: dict[str, Measured] = {}
    for event in ledger.events(kind="measured"):
        run = read_event(event)
        here = in_browser() or {key: run.machine.get(key) for key in ("cpu", "cores", "architecture")} == same()
        if here and _complete(run):
            runs[run.experiment] = run
    return runs


def _complete(run: Measured) -> bool:
    from ironlaw.kit.complete_runs import complete  # brings every experiment

    return complete(run)


def is_curve(values: Any) -> bool:
    """Times above 0 in rising order: what a distribution can be drawn from."""
    if not isinstance(values, (list, tuple)) or len(values) < 2 or not all(isinstance(v, (int, float)) and 0 < v < 1e9 for v in values):
        return False
    return list(values) == sorted(values)


def same() -> dict[str, object]:
    """What identifies this machine: a ledger may come from another."""
    return {"cpu": cpu_name(), "cores": cores(), "architecture": platform.machine()}


def cost(run: Measured, op: str = "add") -> Mapping[str, Any]:
    """The row of one tiny op: `wall_s` queued, `sync_s` waited for."""
    row = run.row(kind="launch", op=op)
    if row is None:
        raise BadValue(f"the measurement of {run.experiment} has no {op!r}; measure it again")
    return row


def span(row: Mapping[str, Any], name: str = "wall_s") -> str:
    """`0.72 to 0.81 µs`: from the tenth percentile to the ninetieth."""
    if name == "value":
        ends = f"{significant(float(row['low']))} to {format_quantity(float(row['high']), str(row['unit']))}"
        return ends.replace("-", MINUS)
    start = "" if name == "wall_s" else name.removesuffix("s")
    low, high = (format_quantity(float(row[f"{start}{end}_s"]), "s") for end in ("low", "high"))
    number, _, unit = low.partition(THIN)
    return f"{number} to {high}" if unit == high.partition(THIN)[2] else f"{low} to {high}"
