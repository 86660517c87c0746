"""What no sentence made by code may contain: a plural of a plural, a capital symbol, a figure nobody can read, a unit twice."""

import re
from collections.abc import Iterator
from typing import Any

NOUNS = (
    "attempt", "box", "byte", "call", "card", "connection", "day", "device", "element", "host", "image", "kernel", "launch", "layer",
    "model", "op", "operation", "parameter", "pass", "point", "read", "replica", "request", "retry", "ring", "row", "sequence", "server",
    "start", "step", "tensor", "thread", "token", "unit", "word", "worker", "write",
)  # fmt: skip
PLURALS = {noun: noun[:-1] + "ies" if noun.endswith("ry") else noun + ("es" if noun.endswith(("ch", "ss", "x")) else "s") for noun in NOUNS}
TAG = re.compile(r"<[^>]*>")
NOT_READ = {"exact", "hover", "id", "table", "points", "formula", "source"}
FAULTS = {
    "a plural of a plural": re.compile(r"\b\w{2,}eses\b|\b(?:" + "|".join(PLURALS.values()) + r")e?s\b"),
    "a plural in -ys": re.compile(r"\b(?:retry|entry|copy)s\b"),
    "one of many": re.compile(r"(?<![\d.,/×])(?<!batch )\b1 (?:" + "|".join(PLURALS.values()) + r")\b"),
    "a capital symbol": re.compile("[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]|\\bTanh\\("),  # Greek capitals that look like Latin ones: nobody meant them
    "a plural of a symbol": re.compile(r"(?<=\d )(?:t|g/kWh|J|W|Wh)s\b"),
    "more than three leading zeros": re.compile(r"(?<![\d.])0\.0000\d"),
    "a space before a sign": re.compile("\\d[ \u202f\u00a0](?:%|×(?![ \u202f\u00a0]?(?:[\\dA-Zα-ω√(]|[a-z]\\b)))"),  # 24% and 4×, but 2 × 3
    "a unit twice": re.compile(r"/s tokens\b|\b(\w+/s) \1\b"),
}


def faults(text: str) -> list[str]:
    return [f"{name}: {match[0]!r} in {text!r}" for name, pattern in FAULTS.items() if (match := pattern.search(text))]


def sentences(value: Any, key: str = "") -> Iterator[str]:
    """Every text of a piece that is read as a sentence: not the exact figures that hovering shows, nor scripts and ids."""
    if isinstance(value, str) and " " in value:
        yield TAG.sub("", value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in NOT_READ:
                yield from sentences(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from sentences(inner, key)
