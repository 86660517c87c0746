"""What the fields of a payload hold: one description, by which the writer, the import and the readers judge alike.

A field knows one question: is this value valid, and if not, what was expected? Fields that a description does not name are kept and
ignored, so that a newer ironlaw may add some.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from typing import Any

MAX_NAME = 200  # characters of a lab's slug or a question's id
MAX_TEXT = 100_000  # characters of a text that a learner writes
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Field:
    def valid(self, value: Any) -> bool:
        """Asked of every event that is read, so it is quick; `fault` is asked of the few that are not valid."""
        return True

    def fault(self, value: Any, name: str) -> str:
        """What is wrong with it, in words; empty if nothing is."""
        return "" if self.valid(value) else f"{name} is {_brief(value)}; expected {self.expected}"

    @property
    def expected(self) -> str:
        return "any JSON"


@dataclass(frozen=True)
class Name(Field):
    longest: int = MAX_NAME
    empty: bool = False

    def valid(self, value: Any) -> bool:
        if value == "":
            return self.empty
        return isinstance(value, str) and len(value) <= self.longest and value.isprintable() and bool(value.strip())

    @property
    def expected(self) -> str:
        return f"1 to {self.longest} printable characters"


@dataclass(frozen=True)
class Text(Field):
    longest: int = MAX_TEXT
    expected = "text"

    def valid(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= self.longest


@dataclass(frozen=True)
class Whole(Field):
    low: int
    high: int

    def valid(self, value: Any) -> bool:
        return type(value) is int and self.low <= value <= self.high

    @property
    def expected(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Positive(Field):
    """A finite number above zero."""

    high: float = 1e300
    expected = "a number above 0"

    def valid(self, value: Any) -> bool:
        return type(value) in (int, float) and 0 < value <= self.high and isfinite(value)


@dataclass(frozen=True)
class Within(Field):
    low: float
    high: float

    def valid(self, value: Any) -> bool:
        return type(value) in (int, float) and self.low <= value <= self.high

    @property
    def expected(self) -> str:
        return f"a number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Flag(Field):
    expected = "true or false"

    def valid(self, value: Any) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True)
class Moment(Field):
    """A time with its offset from UTC, and one that UTC can express."""

    expected = "a time such as 2026-01-31T12:00:00Z"

    def valid(self, value: Any) -> bool:
        try:
            moment = datetime.fromisoformat(value)
            return moment.tzinfo is not None and bool(moment.astimezone(UTC))
        except (TypeError, ValueError, OverflowError):
            return False


@dataclass(frozen=True)
class Id(Field):
    expected = "a UUID in lower case with hyphens"

    def valid(self, value: Any) -> bool:
        return isinstance(value, str) and UUID.fullmatch(value) is not None


@dataclass(frozen=True)
class OneOf(Field):
    words: tuple[str, ...]

    def valid(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.words)}"


@dataclass(frozen=True)
class Maybe(Field):
    """null, or a value."""

    inner: Field

    def valid(self, value: Any) -> bool:
        return value is None or self.inner.valid(value)

    def fault(self, value: Any, name: str) -> str:
        return "" if value is None else self.inner.fault(value, name)


@dataclass(frozen=True)
class Items(Field):
    """A list."""

    inner: Field
    least: int = 0
    most: int = 100_000

    def valid(self, value: Any) -> bool:
        return isinstance(value, list) and self.least <= len(value) <= self.most and all(map(self.inner.valid, value))

    def fault(self, value: Any, name: str) -> str:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            return f"{name} is {_brief(value)}; expected a list of {self.least:,} to {self.most:,}"
        return next((fault for number, item in enumerate(value, 1) if (fault := self.inner.fault(item, f"{name}, item {number}"))), "")


@dataclass(frozen=True)
class Record(Field):
    """An object. `optional` fields may be missing; unknown ones are ignored."""

    needs: Mapping[str, Field] = field(default_factory=dict)
    optional: Mapping[str, Field] = field(default_factory=dict)

    def valid(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for key, inner in self.needs.items():
            if key not in value or not inner.valid(value[key]):
                return False
        return all(key not in value or inner.valid(value[key]) for key, inner in self.optional.items()) if self.optional else True

    def fault(self, value: Any, name: str) -> str:
        if not isinstance(value, dict):
            return f"{name} is {_brief(value)}; expected an object"
        for key, inner in self.needs.items():
            if key not in value:
                return f"{name} has no {key!r}; it needs {', '.join(self.needs)}"
            if fault := inner.fault(value[key], key):
                return fault
        for key, inner in self.optional.items():
            if key in value and (fault := inner.fault(value[key], key)):
                return fault
        return ""


@dataclass(frozen=True)
class ByKind(Field):
    """An object whose `kind` says what else it holds. One of a kind that is not listed is ignored by every reader."""

    kinds: Mapping[str, Record]

    def valid(self, value: Any) -> bool:
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            return False
        known = self.kinds.get(value["kind"])
        return known is None or known.valid(value)

    def fault(self, value: Any, name: str) -> str:
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            return f"{name} is {_brief(value)}; expected an object with a kind"
        known = self.kinds.get(value["kind"])
        return known.fault(value, name) if known else ""


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
