"""`ironlaw hardware check`: what a time on a machine rests on, and what its file lacks for a transferred one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironlaw.calibration.transfer.chip_traits import missing
from ironlaw.cli.show import draw
from ironlaw.engine.device.machine import Hardware, Plan

if TYPE_CHECKING:
    from ironlaw.outputs.registry_output import CheckedMachine


def basis(machine: Hardware) -> str:
    """The kind of time that is predicted: calibrated, transferred, or the datasheet's bound."""
    return machine.basis(Plan())


def as_json(machines: list[Hardware]) -> list[CheckedMachine]:
    return [{"hardware": m.slug, "kind": basis(m), "missing": list(missing(m))} for m in machines]


def show_check(machines: list[Hardware]) -> None:
    rows = [(m.slug, basis(m), "–" if basis(m) == "calibrated" else "; ".join(missing(m)) or "nothing") for m in machines]
    draw.table(
        ["machine", "times are", "missing for an estimate"],
        rows,
        left=("machine", "times are"),
        text=("missing for an estimate",),
    )
