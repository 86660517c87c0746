"""What a study can ask: a question's parameters with their allowed values, its results, and the function that answers one point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import units
from ironlaw.errors import BadValue, unknown

LARGEST = 10**12  # sizes beyond any model
HUGE = 1e30
REQUIRED = object()  # the usual value of a parameter that has none
Point = dict[str, Any]
Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Parameter:
    """`read` turns what a study file says into the one spelling of a value, or refuses it; `column` is its type in Parquet."""

    name: str
    about: str
    column: str  # string, int64, double, bool
    read: Read
    usual: Any = REQUIRED
    unit: str = ""
    names: Callable[[], Iterable[str]] = tuple  # all that it may be, where that is a list

    @property
    def numeric(self) -> bool:
        return self.column in ("int64", "double")


@dataclass(frozen=True)
class Result:
    """`better`: whether "low" or "high" values are; "" where points are not ranked by it."""

    name: str
    about: str
    unit: str = ""
    better: str = ""
    column: str = "double"


@dataclass(frozen=True)
class Question:
    """`version` rises when the same parameters get another answer: older results are then not taken for new ones.

    `by` ranks points unless another result is named; of those, only points whose result `needs` is true are ranked.
    """

    name: str
    about: str
    version: int
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    answer: Callable[[Mapping[str, Any]], dict[str, Any]]
    by: str
    needs: str = ""

    def parameter(self, name: str) -> Parameter:
        for one in self.parameters:
            if one.name == name:
                return one
        raise unknown(f"parameter of the question {self.name}", name, [one.name for one in self.parameters], field=name)

    def result(self, name: str) -> Result:
        """One that points can be ranked by."""
        ranked = [one for one in self.results if one.better]
        for one in ranked:
            if one.name == name:
                return one
        raise unknown(f"result of the question {self.name} to rank by", name, [one.name for one in ranked], field="by")


def one_of(name: str, about: str, names: Callable[[], Iterable[str]], usual: Any = REQUIRED, find: Read | None = None) -> Parameter:
    """A name from a list. `find` knows more spellings, and gives the one that the list has."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise BadValue(f"{name} is {value!r}; write a name in quotes", name)
        if find is not None:
            return str(find(value))
        if value not in names():
            raise unknown(name, value, names(), field=name)
        return value

    return Parameter(name, about, "string", read, usual, names=names)


def whole(name: str, about: str, usual: Any = REQUIRED, least: int = 1) -> Parameter:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            raise BadValue(f"{name} is {value!r}; write a whole number of at least {least}", name)
        return value

    return Parameter(name, about, "int64", read, usual)


def figure(name: str, about: str, unit: str = "", usual: Any = REQUIRED) -> Parameter:
    """A number above 0; with a unit, it may be written out (`"50 ms"`)."""

    def read(value: Any) -> float:
        given = units.parse(value, unit) if unit and isinstance(value, str) else value
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= HUGE or math.isnan(given):
            raise BadValue(
                f"{name} is {value!r}; write a number above 0{f', or one with its unit ({unit}) in quotes' if unit else ''}", name
            )
        return float(given)

    return Parameter(name, about, "double", read, usual, unit)


def flag(name: str, about: str, usual: Any = REQUIRED) -> Parameter:
    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise BadValue(f"{name} is {value!r}; write true or false", name)
        return value

    return Parameter(name, about, "bool", read, usual)
