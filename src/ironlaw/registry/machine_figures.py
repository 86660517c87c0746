"""A machine's figure by name, with what readers call it, its unit and its source: `bandwidth`, `peak.fp16`, `l2.size`, `sms`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry
from ironlaw.formats import rate_unit

# figure -> (what readers call it, unit)
PLAIN = {
    "bandwidth": ("memory bandwidth", "B/s"), "capacity": ("memory", "B"), "usable": ("memory that a model can use", "B"),
    "power": ("power", "W"), "launch": ("cost of a launch", "s"),
}  # fmt: skip
NAMES = {"capacity": "memory", "usable": "reserved"}  # under which the registry gives the source, where it is another
RATES = {"peak": "dense {} peak", "sparse": "{} peak with 2:4 sparsity", "vector": "{} peak of the vector units"}
LEVELS = {"size": ("{}, total size", "B"), "bandwidth": ("{}, bandwidth", "B/s")}


@dataclass(frozen=True, slots=True)
class MachineFigure:
    """`is_size`: the size of a memory, to be shown as its maker counts it (80 GiB)."""

    label: str
    value: float
    unit: str
    source: str
    is_size: bool = False


def machine_figure(machine: Hardware, name: str, where: str) -> MachineFigure:
    """`where` is the place to name if there is no such figure."""
    kind, _, detail = name.partition(".")
    if name in PLAIN:
        label, unit = PLAIN[name]
        source = source_of(machine.figures.get(NAMES.get(name, name)))
        return MachineFigure(label, float(getattr(machine, name)), unit, source, is_size=unit == "B" and name != "usable")
    if name == "sms":
        return MachineFigure("SMs", float(machine.units["sms"]), "SM", "")
    if kind in RATES and detail:
        rate = machine.vector_peak(detail) if kind == "vector" else machine.peak(detail, sparse=kind == "sparse")
        return MachineFigure(RATES[kind].format(detail.upper()), float(rate), rate_unit(detail), source_of(machine.figures.get(name)))
    if detail in LEVELS:
        level = machine.level(kind)
        label, unit = LEVELS[detail]
        # an estimate is of a level's bandwidth: its size is the maker's
        source = ", ".join(filter(None, (level.source, level.date))) if detail == "size" else source_of(level)
        return MachineFigure(label.format(level.label), float(getattr(level, detail)), unit, source, is_size=detail == "size")
    known = (*PLAIN, "sms", *(f"{rate}.FORMAT" for rate in RATES), *(f"LEVEL.{part}" for part in LEVELS))
    raise BadRegistry(f"{where}: a machine has no figure {name!r}; choose one of {', '.join(known)}")


def source_of(figure: Any) -> str:
    """Where a figure of the registry comes from, and whether it is an estimate."""
    if figure is None:
        return ""
    text = ", ".join(filter(None, (figure.source, figure.date)))
    return f"Estimate: {figure.why} ({text})" if figure.estimate else text
