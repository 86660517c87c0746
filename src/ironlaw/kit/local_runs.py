"""What the learner measured on this machine, read from the ledger: the newest run of each experiment, and its rows by what they say."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.ledger import Event
from ironlaw.measure.host import cores, cpu_name
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
        """`measured here, NumPy 2.1.3, 2026-11-15`."""
        return f"measured here, {self.library}, {self.time[:10]}"

    @property
    def noisy(self) -> bool:
        return bool(self.noise.get("noisy"))

    @property
    def verdict(self) -> str:
        """What is to be thought of the figures."""
        reasons = "; ".join(str(reason) for reason in self.noise.get("reasons", ()))
        return f"Noisy: {reasons}. Close other programs and measure again." if self.noisy else "The machine was quiet enough."

    def all(self, **wanted: Any) -> Iterator[Mapping[str, Any]]:
        """The rows whose fields, or fields of `params`, are so."""
        for row in self.rows:
            told = {**row.get("params", {}), **row}
            if all(told.get(key) == value for key, value in wanted.items()):
                yield row

    def row(self, **wanted: Any) -> Mapping[str, Any] | None:
        return next(self.all(**wanted), None)

    def ways(self) -> list[str]:
        """The fused modes that were run, in the order in which they were."""
        return list(dict.fromkeys(str(row["mode"]) for row in self.rows if row.get("mode", "eager") != "eager"))


def read_event(event: Event) -> Measured:
    told = event.payload
    return Measured(
        str(told["experiment"]), str(told.get("library", "")), tuple(told["rows"]), told["machine"], told["software"], told["noise"],
        event.time,
    )  # fmt: skip


def newest(ledger: Any) -> dict[str, Measured]:
    """Experiment -> its newest run on this machine, in whatever lab it was made."""
    found: dict[str, Measured] = {}
    for event in sorted(ledger.events(kind="measured"), key=lambda event: event.time):
        made = read_event(event)
        if {key: made.machine.get(key) for key in ("cpu", "cores", "architecture")} == same():
            found[made.experiment] = made
    return found


def same() -> dict[str, object]:
    """What makes it this machine: a ledger may have come from another."""
    return {"cpu": cpu_name(), "cores": cores(), "architecture": platform.machine()}


def cost(found: Measured, op: str = "add") -> Mapping[str, Any]:
    """The row of one tiny op: `wall_s` queued, `sync_s` waited for."""
    row = found.row(kind="launch", op=op)
    if row is None:
        raise BadValue(f"the measurement of {found.experiment} has no {op!r}; measure it again")
    return row


def span(row: Mapping[str, Any], name: str = "wall_s") -> str:
    """`0.72 to 0.81 µs`: from the tenth percentile to the ninetieth."""
    start = "" if name == "wall_s" else name.removesuffix("s")
    low, high = (format_quantity(float(row[f"{start}{end}_s"]), "s") for end in ("low", "high"))
    number, _, unit = low.partition(THIN)
    return f"{number} to {high}" if unit == high.partition(THIN)[2] else f"{low} to {high}"
