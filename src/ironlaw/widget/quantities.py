"""Quantities in words: to read, exact, as a share of another, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ironlaw.engine.device.machine import Figure as Sourced
from ironlaw.units import joined, parse, show, significant

THIN = "\u202f"  # keeps the unit with its number


@lru_cache(maxsize=8192)  # a dial goes back and forth over the same figures
def format_quantity(value: float, unit: str = "", digits: int = 3) -> str:
    """A figure to read: `3.35 TB/s` with a thin space. Bytes are always decimal, so that those of one picture can be compared."""
    return show(value, unit, digits).replace(" ", THIN)


def percent(share: float) -> str:
    """A share on a picture: `12.3%`."""
    return f"{significant(100 * share)}%"


def in_one_unit(values: Iterable[float], unit: str) -> Callable[[float], str]:
    """A way to write figures that stand side by side: all with the prefix of the largest, `0.328 µs` beside `33.6 µs`.

    One that would be less than a hundredth of it has its own, `8.66 MB`.
    """
    name = show(max(values), unit).rpartition(" ")[2]
    factor = parse(f"1 {name}")

    def write(value: float) -> str:
        tiny = 0 < abs(value) < factor / 100
        return format_quantity(value, unit) if tiny else f"{significant(value / factor)}{THIN}{name}"

    return write


@lru_cache(maxsize=8192)
def exact(value: float, unit: str = "") -> str:
    """All the digits that a reader could want, without a prefix."""
    return joined(significant(value, 12), unit, THIN)


@lru_cache(maxsize=8192)
def share(part: float, whole: float) -> str:
    """`38.2%`, three digits."""
    return f"{significant(100 * part / whole)}%"


def cite(source: Sourced | str | None) -> str:
    """Where a figure comes from, in a line; an estimate says that it is one, and why."""
    if source is None or isinstance(source, str):
        return source or ""
    text = f"{source.source}, {source.date}"
    return f"Estimate: {source.why} ({text})" if source.estimate else text
