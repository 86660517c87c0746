"""A question is a frozen class: its fields are its parameters (`systems.fields`), its properties are its answers.

    @dataclass(frozen=True, repr=False)
    class Queue(Question):
        rate: float = figure(about="requests per second")
        service: float = figure(unit="s", about="what a request takes alone")

        @result("mean time in the system", "s", better="low")
        def mean_s(self) -> float: ...

Whoever asks may write values as on the command line (`service="5 ms"`). A message has a parameter in backticks, `rate` or `rate=5`, and
the command line spells it as its option. `to_json()` is what the command writes as JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ironlaw.errors import refusing
from ironlaw.systems.call_arguments import check
from ironlaw.systems.fields import parameters

T = TypeVar("T")
LINES = 12  # of a table, in a short text


@dataclass(frozen=True)
class Result:
    """`better`: whether "low" or "high" values are; "" where points are not ranked by it. `column`: its type in a table."""

    name: str
    about: str
    unit: str = ""
    better: str = ""
    column: str = "double"


class ResultProperty(cached_property[T]):
    """A property that is an answer, computed once: what it is, in which unit, and whether low or high values are better."""

    def __init__(self, func: Callable[[Any], T], about: Result) -> None:
        super().__init__(func)
        self.about = about


def result(about: str, unit: str = "", better: str = "", column: str = "double") -> Callable[[Callable[[Any], T]], ResultProperty[T]]:
    return lambda func: ResultProperty(func, Result(func.__name__, about, unit, better, column))


def results(question: type) -> tuple[Result, ...]:
    """The results, in the order in which they are declared."""
    return tuple(value.about for value in vars(question).values() if isinstance(value, ResultProperty))


@dataclass(frozen=True)
class Table:
    """What a notebook shows."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self, kind: str) -> str:
        """A few lines."""
        widths = [max(len(row[i]) for row in self.rows) for i in range(len(self.names))] if self.rows else []
        cells = [[f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)] for row in self.rows[:LINES]]
        lines = ["  " + "  ".join(row).rstrip() for row in cells]
        left = [f"  and {len(self.rows) - LINES} more"] if len(self.rows) > LINES else []
        return "\n".join([f"<{kind} {self.title}", *lines, *left]) + ">"

    def html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.names)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


if TYPE_CHECKING:
    Asked = type
else:

    class Asked(type):
        """Wrong arguments are answered by what to write."""

        def __call__(cls, *args, **kwargs):
            check(cls.__init__, args, kwargs, f"il.{cls.__name__.lower()}")
            return super().__call__(*args, **kwargs)


class Question(metaclass=Asked):
    schema: ClassVar[str] = ""  # of what `to_json` gives

    def __post_init__(self) -> None:
        """What was given is read; a default stands as it is."""
        for name, one in parameters(type(self)).items():
            value = getattr(self, name)
            if value is not one.default:
                with refusing(name):
                    object.__setattr__(self, name, one.read(value))

    @cached_property
    def answer(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def table(self) -> Table:
        """The results, each in a row."""
        cells = [(one.name, f"{getattr(self, one.name)}", one.unit) for one in results(type(self))]
        return Table("", ("result", "value", "unit"), cells)

    def to_json(self) -> dict[str, Any]:
        """What the command writes as JSON."""
        return document(self.answer, self.schema)

    def __repr__(self) -> str:
        return self.table().text(type(self).__name__)

    def _repr_html_(self) -> str:
        return self.table().html()


def document(value: Mapping[str, Any], schema: str = "") -> dict[str, Any]:
    """With the schema that describes it (`ironlaw schema`) and the version that wrote it. Infinities and NaN are not JSON: they come out
    as null."""
    from ironlaw.version import __version__

    plain: dict[str, Any] = _plain({"schema": schema or value["schema"], "ironlaw": __version__, **value})
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
