"""Quantities in words: to read, exact, as a share of another, and where they come from."""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw.engine.device.machine import Figure as Sourced
from ironlaw.units import UNITS, show, significant

THIN = "\u202f"  # keeps the unit with its number


@lru_cache(maxsize=8192)  # a dial goes back and forth over the same figures
def format_quantity(value: float, unit: str = "", digits: int = 3) -> str:
    """A figure to read: `3.35 TB/s` with a thin space. A small memory that is a power of two is called so: `512 KiB`."""
    if unit == "B" and 2**10 <= value < 2**30 and math.log2(value).is_integer():
        step, name = (2**20, "MiB") if value >= 2**20 else (2**10, "KiB")
        return f"{value / step:.0f}{THIN}{name}"
    text = show(value, unit, digits) if unit in UNITS or not unit else f"{significant(value, digits)} {unit}"
    return text.replace(" ", THIN)


@lru_cache(maxsize=8192)
def exact(value: float, unit: str = "") -> str:
    """All the digits that a reader could want, without a prefix."""
    return f"{significant(value, 12)}{THIN}{unit}".strip(THIN)


@lru_cache(maxsize=8192)
def share(part: float, whole: float) -> str:
    """`38.2 %`, three digits."""
    return f"{significant(100 * part / whole)}{THIN}%"


def cite(source: Sourced | str | None) -> str:
    """Where a figure comes from, in a line; an estimate says that it is one, and why."""
    if source is None or isinstance(source, str):
        return source or ""
    text = f"{source.source}, {source.date}"
    return f"Estimate: {source.why} ({text})" if source.estimate else text
