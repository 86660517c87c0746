"""What people write about a load, an SLO and a deployment: columns of a file, a number format, an engine, a percentile, a spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.errors import BadValue, unknown
from ironlaw.formats import FORMATS, spelled
from ironlaw.registry.engines import engine
from ironlaw.systems.serving.deployments import STORED


def read_columns(given: str | Mapping[str, str]) -> dict[str, str]:
    """`arrival=when,prompt=tokens_in` -> what a file calls them."""
    pairs = [entry.partition("=")[::2] for entry in given.split(",")] if isinstance(given, str) else list(given.items())
    table = {}
    for ours, theirs in ((one.strip(), other.strip()) for one, other in pairs):
        if ours not in ("arrival", "prompt", "output") or not theirs:
            entry = f"{ours}={theirs}" if theirs else ours
            raise BadValue(f"{entry!r} does not name a column; write arrival=NAME, prompt=NAME or output=NAME")
        table[ours] = theirs
    return table


def read_stored(text: str) -> str:
    name = spelled(text.lower())
    if name not in STORED:
        raise unknown("format to store numbers in", text, STORED)
    return FORMATS[name].name


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0


def read_engine(value: str) -> str:
    return engine(value).slug


def read_percentile(value: Any) -> float:
    if not 0 < _number(value) < 100:
        raise BadValue(f"{value!r} is not a percentile; write one between 0 and 100, such as 99")
    return float(value)


def read_spread(value: Any) -> float:
    if not 0 <= _number(value) <= 100:
        raise BadValue(f"{value!r} is not a spread; write standard deviation over mean, such as 1, or 0 for all alike")
    return float(value)
