"""The figure of a term of the glossary: a machine's ("h100_sxm: bandwidth"), or [label, expression, unit]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw.claims.expressions import compute
from ironlaw.claims.shorthand import row
from ironlaw.errors import BadRegistry
from ironlaw.registry import evidence
from ironlaw.registry.machine_figures import MachineFigure, machine_figure
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.units import UNITS, joined, show, show_capacity, significant


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure as it is shown: `memory bandwidth`, `3.35 TB/s`, and where it comes from."""

    label: str
    value: str
    source: str


def amount(entry: Any, where: str) -> tuple[float, str]:
    """The figure as a number, and its unit."""
    if isinstance(entry, str):
        figure = _of_machine(entry, where)[1]
        return figure.value, figure.unit
    _, expression, unit = entry
    return float(compute(expression, where, {"row": row})), unit


def shown(entry: Any, cited: str, where: str) -> ShownFigure:
    value, unit = amount(entry, where)
    if isinstance(entry, str):
        machine, figure = _of_machine(entry, where)
        text = show_capacity(value) if figure.is_size else readable(value, "" if unit == "SM" else unit)
        source = figure.source or f"registry, hardware {machine}"
        return ShownFigure(f"{hardware(machine).name.partition(',')[0]}, {figure.label}", text, source)
    return ShownFigure(str(entry[0]), readable(value, unit), _source(cited, where))


def readable(value: float, unit: str) -> str:
    """A figure to read: with a prefix, as a share, or as a count."""
    if unit in UNITS:
        return show(value, unit)
    if not unit and abs(value) >= 1e6:
        size, word = (1e9, "billion") if abs(value) >= 1e9 else (1e6, "million")
        return f"{significant(value / size)} {word}"
    return joined(significant(value), unit)


def _of_machine(entry: str, where: str) -> tuple[str, MachineFigure]:
    """The machine's name, and its figure."""
    slug, colon, name = entry.partition(": ")
    if not colon:
        raise BadRegistry(f"{where}: the figure {entry!r} names no machine; write it as 'h100_sxm: bandwidth'")
    return slug, machine_figure(hardware(slug), name, where)


def _source(cited: str, where: str) -> str:
    """`workload NAME` and `evidence MACHINE/FILE` are looked up; any other text is the source itself."""
    kind, _, name = cited.partition(" ")
    if kind == "workload":
        return f"computed from the model's graph; {about(name)['source']}"
    if kind == "evidence":
        try:
            return evidence.file(name).source
        except BadRegistry as error:
            raise BadRegistry(f"{where}: {error}") from None
    return cited
