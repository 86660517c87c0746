"""A claim's figures and premises, as a reader sees them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from ironlaw.claims import premises
from ironlaw.claims.expressions import compute
from ironlaw.claims.reading import DEFAULT, Reading
from ironlaw.units import DECIMAL, UNITS, joined, show, significant

COUNTS = ("parameters", "calls")  # nobody reads millions of them to the last digit
COUNT = re.compile(r"\b\d{4,}(?= [a-z]+s\b)")  # 1152 sequences
RATES = ("FLOP/s", "OP/s", "B/s")  # whose prefix is the one that people use for the machine: 1,979 TFLOP/s


def slot_text(expression: str, unit: str, where: str) -> str:
    """What a slot of `why` is filled with."""
    value = compute(expression, where)
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if not unit and float(value).is_integer() else shown(float(value), unit)


def recorded(reading: Reading, key: str) -> Any:
    """A premise, or that there is none."""
    return premises.NOT_RECORDED if reading.get(key) is None else reading.get(key)


def describe(reading: Reading, keys: Iterable[str]) -> str:
    """The premises of a reading, in words; a count that its source writes `1152 sequences` reads 1,152."""
    text = ", ".join(premises.value_text(key, reading.get(key)) for key in keys if key != "row" and reading.get(key) != DEFAULT)
    return COUNT.sub(lambda match: f"{int(match[0]):,}", text)


def prefix_said(text: str, unit: str) -> str:
    """`T` of a claim that says 1,979 TFLOP/s; empty where it names no figure in this unit."""
    said = re.search(rf"\d ([kMGTP]){re.escape(unit)}(?![\w/])", text) if unit in RATES else None
    return said[1] if said else ""


def shown(value: float, unit: str, digits: int = 3, prefix: str = "") -> str:
    """A claim's figure to read: `512 KiB` where it is a round binary number, `1 kernel`, `N = 279`, `perplexity 8.05`; inf is "never".

    `prefix`: if any.
    """
    if math.isinf(value):
        return "never"
    if unit == "B" and value >= 1024 and value % 1024 == 0 and value < 1000 * 1024:
        return f"{significant(value / 1024)} KiB"
    if unit in UNITS and unit not in ("FLOP/B", "OP/B"):  # an intensity has no prefix
        return joined(significant(value / DECIMAL[prefix], digits), prefix + unit) if prefix else show(value, unit, digits)
    number = significant(value, digits)
    if unit in COUNTS and value >= 1e6:
        size, word = (1e9, "billion") if value >= 1e9 else (1e6, "million")
        number = f"{significant(value / size, digits)} {word}"
    if unit in ("N", "ε"):
        return f"{unit}\u202f=\u202f{number}"
    if unit == "perplexity":
        return f"perplexity\u00a0{number}"
    first, gap, rest = unit.partition(" ")
    return joined(number, f"{first.removesuffix('s') if number == '1' else first}{gap}{rest}")
