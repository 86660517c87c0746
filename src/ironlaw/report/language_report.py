"""A language model's figures: time to the first token, time per token, what the cache holds, the largest batch, and the bottleneck.

A machine that does not hold the model is answered for by the fewest that do, its ops in stages one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ironlaw.engine.cluster.pipeline_stages import Group, smallest_group
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.memory import largest_that_fits
from ironlaw.engine.device.predict import Prediction
from ironlaw.report.report_layers import places
from ironlaw.report.too_large import ALONE
from ironlaw.systems.largest_sizes import MOST, Growth

PREFILL, DECODE = "prefill", "decode"


@dataclass(frozen=True)
class Phase:
    """A prompt of `tokens`, or one step after `tokens`; `kept` bytes of them are in a sequence's cache. Predictions by batch."""

    name: str
    tokens: int
    kept: float
    predictions: dict[int, tuple[Prediction, ...]]
    growth: Growth | None

    def of(self, batch: int, machine: str, mode: str) -> Prediction | None:
        return next((p for p in self.predictions[batch] if p.hardware.slug == machine and p.plan.mode == mode), None)

    def needs(self, batch: int, devices: int) -> float | None:
        """Bytes on `devices` that share all evenly; None where it is not known how memory grows. A prompt's cache comes on top."""
        if self.growth is None:
            return None
        held = self.growth.held_at(batch) + (self.kept * batch if self.name == PREFILL else 0.0)
        return held + devices * self.growth.alive_at(batch)


@dataclass(frozen=True)
class Language:
    """Both phases, or the one that was asked for."""

    phases: tuple[Phase, ...]

    @property
    def token_bytes(self) -> float:
        """What the cache keeps of one token; the mean where layers keep a window."""
        return self.phases[-1].kept / self.phases[-1].tokens

    def kept(self, batch: int) -> float:
        """The cache of a batch."""
        return self.phases[-1].kept * batch

    def phase(self, name: str) -> Phase | None:
        return next((phase for phase in self.phases if phase.name == name), None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each batch, machine and mode, in SI units."""
        return map(dict, self._rows)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        largest: dict[tuple[str, int], int | None] = {}  # by machine and devices: neither the batch nor the mode changes it
        return [self._row(batch, p, largest) for batch, predictions in self.phases[-1].predictions.items() for p in predictions]

    def _row(self, batch: int, p: Prediction, largest: dict[tuple[str, int], int | None]) -> dict[str, Any]:
        machine, mode = p.hardware, p.plan.mode
        groups = self._groups(batch, machine, mode)
        devices = max((group.devices for group in groups.values()), default=1)
        if (machine.slug, devices) not in largest:
            largest[machine.slug, devices] = self._largest(machine, devices)
        row: dict[str, Any] = {
            "hardware": machine.slug, "mode": mode, "basis": p.basis, "batch": batch, "devices": devices,
            "kv_bytes": self.kept(batch), "weight_bytes": p.memory.weights, "largest_batch": largest[machine.slug, devices],
        }  # fmt: skip
        row["fits"] = row["largest_batch"] >= batch if row["largest_batch"] is not None else bool(p.fits)
        for name, key in ((PREFILL, "ttft"), (DECODE, "token")):
            phase = self.phase(name)
            one = phase.of(batch, machine.slug, mode) if phase else None
            seconds = (groups[name].seconds if name in groups else float(one.seconds)) if one else None
            row[f"{key}_s"] = seconds
            row[f"{key}_interval"] = one.interval if one and not groups else None
            row[f"{name}_bound"] = str(one.bound) if one else None
            tokens = batch * (phase.tokens if phase and name == PREFILL else 1)
            row[f"{'prompt_' if name == PREFILL else ''}tokens_per_s"] = tokens / seconds if seconds else None
        return row

    def _groups(self, batch: int, machine: Hardware, mode: str) -> dict[str, Group]:
        """The devices of each phase, where one does not hold them all."""
        from ironlaw.registry.boxes import box_with

        each = {phase.name: phase.of(batch, machine.slug, mode) for phase in self.phases}
        if machine.kind in ALONE or all(p.fits for p in each.values() if p):
            return {}
        groups = {name: smallest_group(p, box_with(machine.slug)) for name, p in each.items() if p}
        return {name: group for name, group in groups.items() if group}

    def _largest(self, machine: Hardware, devices: int) -> int | None:
        """The largest batch of which every phase fits `devices`."""
        if any(phase.growth is None for phase in self.phases):
            return None

        if devices == 1:
            return min(phase.growth.on(machine).largest(float(machine.usable)) for phase in self.phases if phase.growth)

        def total(batch: int) -> float:
            return max(needs for phase in self.phases if (needs := phase.needs(batch, devices)) is not None)

        return largest_that_fits(total, devices * float(machine.usable), MOST)

    @staticmethod
    def _operators(phase: Phase) -> list[dict[str, Any]]:
        """The operators of the first batch, machine and mode, with the same op of all layers together."""
        names = ("name", "kind", "count", "seconds", "flops", "bytes", "regime")
        return [{name: getattr(place, name) for name in names} for place in places(next(iter(phase.predictions.values()))[0])]

    def as_json(self) -> dict[str, Any]:
        lengths = {phase.name: phase.tokens for phase in self.phases}
        return {
            "prompt": lengths.get(PREFILL), "context": lengths.get(DECODE), "kv_bytes_per_token": self.token_bytes,
            "rows": list(self.rows()), "operators": {phase.name: self._operators(phase) for phase in self.phases},
        }  # fmt: skip
