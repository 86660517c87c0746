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

from ironlaw.claims import NAMESPACE
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry
from ironlaw.recall import card_words
from ironlaw.recall.card_expressions import evaluate
from ironlaw.registry.machine_figures import machine_figure
from ironlaw.units import show_capacity


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
    shown = card_words.amount(float(value), *rest) if rest else card_words.display(value)
    return Fact(card_words.sentence(card_words.fill(label, slots, where)), shown)


def _of_machine(entry: str, where: str, values: Mapping[str, Any]) -> Fact:
    name, colon, name_of_figure = entry.format(**values).partition(": ")
    if not colon:
        raise BadRegistry(f"{where}: the fact {entry!r} names no figure; write it as 'device: bandwidth'")
    slug = str(values.get(name, name))
    machine: Hardware = NAMESPACE["hardware"](slug)
    figure = machine_figure(machine, name_of_figure, where)
    shown = show_capacity(figure.value) if figure.is_size else card_words.amount(figure.value, figure.unit)
    return Fact(f"{card_words.display(slug)}: {figure.label}", shown, figure.source)
