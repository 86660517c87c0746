"""The figures that an answer needs and its question does not give: one tap away on the card, `f` in the terminal.

In a template, an entry of `facts` is one of

    "device: bandwidth"                              a machine's figure; `device` is a drawn value (or a machine's name)
    "device: peak.{format}"                          with a drawn value in it
    ["operations of a pass", 'workload(model).flops', "FLOP"]     anything computed: label, expression, unit, digits

A machine's figure brings its label, its unit and its source from the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry
from ironlaw.formats import rate_unit
from ironlaw.recall import words
from ironlaw.recall.expressions import evaluate
from ironlaw.registry.claims import NAMESPACE
from ironlaw.units import show_capacity

# figure -> (what readers call it, unit)
PLAIN = {
    "bandwidth": ("memory bandwidth", "B/s"), "capacity": ("memory", "B"), "usable": ("memory that a model can use", "B"),
    "power": ("power", "W"), "launch": ("cost of a launch", "s"),
}  # fmt: skip
NAMES = {"capacity": "memory", "usable": "reserved"}  # under which the registry gives the source, where it is another
RATES = {"peak": "dense {} peak", "sparse": "{} peak with 2:4 sparsity", "vector": "{} peak of the vector units"}
LEVELS = {"size": ("{}, total size", "B"), "bandwidth": ("{}, bandwidth", "B/s")}


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure beside the question, as shown."""

    label: str
    value: str
    source: str = ""


def facts(entries: Sequence[Any], where: str, values: Mapping[str, Any], slots: Mapping[str, str]) -> tuple[Fact, ...]:
    return tuple(
        _of_machine(entry, where, values) if isinstance(entry, str) else _computed(entry, where, values, slots) for entry in entries
    )


def _computed(entry: Sequence[Any], where: str, values: Mapping[str, Any], slots: Mapping[str, str]) -> Fact:
    label, expression, *rest = entry
    value = evaluate(expression, where, values)
    shown = words.amount(float(value), *rest) if rest else words.display(value)
    return Fact(words.sentence(words.fill(label, slots, where)), shown)


def _of_machine(entry: str, where: str, values: Mapping[str, Any]) -> Fact:
    name, colon, figure = entry.format(**values).partition(": ")
    if not colon:
        raise BadRegistry(f"{where}: the fact {entry!r} names no figure; write it as 'device: bandwidth'")
    slug = str(values.get(name, name))
    machine: Hardware = NAMESPACE["hardware"](slug)
    label, value, unit, source = _figure(machine, figure, where)
    is_size = unit == "B" and figure != "usable"  # as its maker counts it: 80 GiB, 192 KiB
    return Fact(f"{words.display(slug)}: {label}", show_capacity(value) if is_size else words.amount(value, unit), source)


def _figure(machine: Hardware, figure: str, where: str) -> tuple[str, float, str, str]:
    """Label, value, unit and source."""
    kind, _, detail = figure.partition(".")
    if figure in PLAIN:
        label, unit = PLAIN[figure]
        return label, float(getattr(machine, figure)), unit, _source(machine.figures.get(NAMES.get(figure, figure)))
    if figure == "sms":
        return "SMs", float(machine.units["sms"]), "SM", ""
    if kind in RATES and detail:
        rate = machine.vector_peak(detail) if kind == "vector" else machine.peak(detail, sparse=kind == "sparse")
        unit = rate_unit(detail)
        return RATES[kind].format(words.display(detail)), float(rate), unit, _source(machine.figures.get(figure))
    if detail in LEVELS:
        level = machine.level(kind)
        label, unit = LEVELS[detail]
        return label.format(level.label), float(getattr(level, detail)), unit, _source(level)
    known = (*PLAIN, "sms", *(f"{rate}.FORMAT" for rate in RATES), *(f"LEVEL.{part}" for part in LEVELS))
    raise BadRegistry(f"{where}: a machine has no figure {figure!r}; choose one of {', '.join(known)}")


def _source(figure: Any) -> str:
    """Where a figure of the registry comes from, and whether it is an estimate."""
    if figure is None:
        return ""
    text = ", ".join(filter(None, (figure.source, figure.date)))
    return f"Estimate: {figure.why} ({text})" if figure.estimate else text
