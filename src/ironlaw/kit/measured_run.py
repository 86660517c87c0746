"""One run of one experiment, as the ledger has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.measure.software_host import in_browser


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
