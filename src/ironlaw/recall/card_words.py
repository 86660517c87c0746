"""Figures and slots: `fill("{{ n }} on {{ device }}", …)`, `amount(1, "kernel") -> "1 kernel"`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ironlaw.engine.device.types import FORMATS
from ironlaw.engine.device.work import KINDS
from ironlaw.errors import BadRegistry
from ironlaw.formats import intensity_unit, operation, rate_unit
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.workloads import about, workloads
from ironlaw.units import SIGNS, UNITS, joined, show, significant

SLOT = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")
SYMBOLS = (*SIGNS, "t", "g/kWh")  # symbols, which have no plural
FUNCTIONS = "ln|log|exp|tanh|max|min"
WORD = re.compile(rf"(?!(?:{FUNCTIONS})\b)(a|[a-z][a-z’'-]+)(?=[\s,;:.]|$)")  # a word of English, not a symbol or a function
UNIT_OPTIONAL = ("FLOP/B", "OP/B")  # units that a learner may leave out: no prefix can be mistaken
EXAMPLES = {
    "s": "7 us",
    "B": "7 MB",
    "B/s": "7 GB/s",
    "FLOP": "7 GFLOP",
    "FLOP/s": "7 GFLOP/s",
    "FLOP/B": "7",
    "OP/B": "7",
}  # no card's answer
COUNTED = {"FLOP": operation, "FLOP/s": rate_unit, "FLOP/B": intensity_unit}
OPS = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}


def fill(text: str, slots: Mapping[str, str], where: str) -> str:
    """A text with all of its slots filled. A slot without a value is the author's error."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in slots:
            raise BadRegistry(f"{where}: no value for the slot {match[1]!r}; draw it, or add it under `show`")
        return slots[match[1]]

    return " ".join(SLOT.sub(value, text).split())


def sentence(text: str) -> str:
    """With a capital: a slot at the beginning may have a lower-case value. A symbol (`ρ`, `s/g`, `tanh(x)`) stays as it is."""
    return text[:1].upper() + text[1:] if WORD.match(text) else text


def slots(text: str) -> set[str]:
    return set(SLOT.findall(text))


def amount(value: float, unit: str = "", digits: int = 3) -> str:
    """A figure for people: with its prefix, as a share, as a factor, or as a count of things (`1 kernel`, `1,024 kernels`)."""
    if unit in UNITS and unit not in UNIT_OPTIONAL:
        return show(value, unit, digits)
    if unit in UNIT_OPTIONAL or unit == "%":
        return joined(significant(value, digits), unit)
    if abs(value) >= 1e6:  # a count that nobody reads to the last digit
        size, word = (1e9, "billion") if abs(value) >= 1e9 else (1e6, "million")
        number = f"{significant(value / size, digits)} {word}"
    elif float(value).is_integer() and unit not in SYMBOLS:
        number = f"{value:,.0f}"
    else:
        number = significant(value, digits)
    return joined(number, unit if number == "1" or unit in (*SYMBOLS, "") else plural(unit))


def unit_of(unit: str, values: Mapping[str, Any]) -> str:
    """`FLOP/B in format` -> `OP/B` where the drawn format is an integer's; any other unit as it is written."""
    counted, _, name = unit.partition(" in ")
    if not name or counted not in COUNTED:
        return unit
    fmt = str(values.get(name, name))
    if fmt not in FORMATS:
        raise BadRegistry(f"in the unit {unit!r}, {name!r} is neither a drawn number format nor one of {', '.join(FORMATS)}")
    return COUNTED[counted](fmt)


def plural(noun: str) -> str:
    """The plural of the last word before an `of`: `launch` -> `launches`, `byte of mask` -> `bytes of mask`."""
    head, of, rest = noun.partition(" of ")
    if head.endswith("y") and head[-2:-1] not in "aeiou":
        return f"{head[:-1]}ies{of}{rest}"
    return head + ("es" if head.endswith(("ch", "sh", "ss", "x")) else "s") + of + rest


def display(value: Any) -> str:
    """A drawn value as readers know it: a machine or model by name, a format in capitals, a shape, a number."""
    if isinstance(value, str):
        if value in machines():
            return hardware(value).name.partition(",")[0]
        if value in workloads():
            return str(about(value)["name"])
        if value in KINDS:
            return OPS.get(value, value.replace("_", " "))
        return value.upper() if value in FORMATS else value
    if isinstance(value, tuple):
        is_chain = bool(value) and isinstance(value[0], str)
        return " → ".join(map(display, value)) if is_chain else f"[{', '.join(map(display, value))}]"
    return amount(float(value))


def expected_input(unit: str) -> str:
    """What to type for an answer in this unit."""
    if unit in UNIT_OPTIONAL:
        return f"a number, such as {EXAMPLES[unit]}"
    if unit in UNITS:
        return f"a number and a unit, such as {EXAMPLES.get(unit, f'3 {unit}')}"
    if unit in SYMBOLS:
        return {"%": "a percentage, such as 7%", "×": "a factor, such as 7"}.get(unit, f"a number, in {unit}")
    return f"a number of {plural(unit)}" if unit else "a number"
