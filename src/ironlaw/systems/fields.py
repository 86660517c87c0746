"""A question's parameters, declared once: the fields of a frozen class.

    @dataclass(frozen=True)
    class Plan:
        noise: float = among(NOISES, 1.0, "Noise multiplier")
        runs: int = whole(10, "Runs, tuning included", most=50, log=True)

The command line, studies, design files and dials read what a person typed or turned by `Parameter.read`, and take names, limits, defaults
and help from the field; nobody declares them again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ironlaw.errors import BadValue, unknown
from ironlaw.systems.value_readers import HUGE, LARGEST, Read, read_figure, read_flag, read_option, read_several, read_share, read_whole

REQUIRED: Any = object()  # the default of a parameter that has none
Words = str | Mapping[Any, str] | Callable[[Any], str]


@dataclass(frozen=True)
class Parameter:
    """`read` turns what somebody wrote into the value, or refuses it. `options`: all that it may be, where that is a list.

    `shown`: the words for one of them on a dial. `flag`: a command's option, if not the name.
    `means`: what a dial's value is in the field, such as minutes in seconds; default, limits and stops are then the dial's.
    """

    read: Read
    label: str = ""
    about: str = ""
    unit: str = ""
    options: Callable[[], Iterable[Any]] | None = None
    low: float | None = None
    high: float | None = None
    shown: Words = "{}"
    tried: tuple[Any, ...] = ()  # of a range, the values that a search for a design tries
    flag: str = ""
    metavar: str = ""  # what the command's help writes for a value
    group: str = ""  # the heading that a command's help has it under, or its table in a design file
    example: str = ""  # what an error tells somebody to write who left it out
    alone: Any = None  # what a command's option means without a value
    excludes: str = ""  # the other parameter of which a command takes only one
    item: Read | None = None  # reads one of several values: a command takes the option again for each
    column: str = "double"  # its type in a table of results: string, int64, double, bool; number: as the dial has it
    dial: str = ""  # choice, select, span or switch; "" where it has none
    more: Mapping[str, Any] = field(default_factory=dict)  # what else the dial takes: log, step, steps, hidden, presets …
    means: Callable[[Any], Any] | None = None
    default: Any = REQUIRED  # or what gives it, where it is worked out
    name: str = ""

    @property
    def start(self) -> Any:
        """Where its dial begins."""
        return self.default() if callable(self.default) else self.default

    @property
    def numeric(self) -> bool:
        return self.column in ("int64", "double", "number")

    @property
    def stops(self) -> tuple[Any, ...]:
        """Where it can stand, in order; of a range, what a search tries."""
        return self.tried or (tuple(self.options()) if self.options is not None else tuple(self.more.get("steps", ())))

    def words(self, value: Any) -> str:
        return words(self.shown, value)

    def take(self, value: Any) -> Any:
        """What a dial that stands there means: the nearest stop, where it only has those."""
        if self.dial == "span" and self.options is not None:
            value = min(self.options(), key=lambda stop: abs(math.log(stop / value)))
        value = TYPES[self.column](value)
        return self.means(value) if self.means else value


TYPES: Mapping[str, Read] = {"int64": round, "double": float, "bool": bool, "string": lambda value: value, "number": lambda value: value}


def times(factor: float) -> Callable[[float], float]:
    """Reads a dial in another unit: `means=times(60)` for minutes in a field of seconds."""
    return lambda value: factor * value


def hundredths(value: float) -> float:
    """Reads a dial in percent."""
    return value / 100


def thousandths(value: float) -> float:
    """Reads a dial in milliseconds."""
    return value / 1e3


def parameters(question: type) -> dict[str, Parameter]:
    """Name -> parameter, in the order of the fields. Fields of other kinds are left out."""
    return dict(_parameters(question))


@cache
def _parameters(question: type) -> tuple[tuple[str, Parameter], ...]:
    declared = [each for each in dataclasses.fields(question) if "parameter" in each.metadata]
    return tuple((each.name, dataclasses.replace(each.metadata["parameter"], name=each.name)) for each in declared)


def parameter(question: type, name: str) -> Parameter:
    known = parameters(question)
    if name not in known:
        raise unknown(f"parameter of {question.__name__}", name, known, field=name)
    return known[name]


# --- fields


def declare(one: Parameter) -> Any:
    """The field of a dataclass that has this parameter."""
    metadata = {"parameter": one}
    if one.default is REQUIRED:
        return field(metadata=metadata)
    if callable(one.default):
        return field(default_factory=lambda: one.take(one.start), metadata=metadata)
    return field(default=one.take(one.default) if one.dial and one.default is not None else one.default, metadata=metadata)


def whole(default: Any = REQUIRED, label: str = "", *, least: int = 1, most: int = LARGEST, dial: str = "", **rest: Any) -> Any:
    """A whole number from `least` to `most`."""
    kept, more = _split(rest)
    more = {"whole": True, **more} if dial == "span" else more
    reader = Parameter(lambda value: read_whole(value, least, most), label, low=least, high=most, column="int64", dial=dial, more=more)
    return declare(dataclasses.replace(reader, default=default, **kept))


def figure(
    default: Any = REQUIRED,
    label: str = "",
    unit: str = "",
    *,
    zero: bool = False,
    low: float | None = None,
    high: float | None = None,
    most: float = HUGE,
    **rest: Any,
) -> Any:
    """A number above 0 (or from 0 on), at most `most`; with a unit it may be written out: "5 ms". A dial goes from `low` to `high`."""
    kept, more = _split(rest)
    example = rest.get("example", "")
    reader = Parameter(lambda value: read_figure(value, unit, zero, example, most), label, unit=unit, low=low, high=high, more=more)
    return declare(dataclasses.replace(reader, default=default, **kept))


def share(default: Any = REQUIRED, label: str = "", *, above: bool = False, below: bool = False, **rest: Any) -> Any:
    """A share from 0 to 1; as text it may be a percentage. `above`: 0 is excluded; `below`: 1 is excluded."""
    kept, more = _split(rest)
    reader = Parameter(lambda value: read_share(value, above=above, below=below), label, low=0.0, high=1.0, more=more)
    return declare(dataclasses.replace(reader, default=default, **kept))


def custom(read: Read, default: Any = REQUIRED, label: str = "", **rest: Any) -> Any:
    """Whatever `read` makes of what was written; it gives a value that it made back as it is."""
    kept, more = _split(rest)
    kept.setdefault("column", "string")
    return declare(dataclasses.replace(Parameter(read, label, more=more), default=default, **kept))


def several(read: Read, default: Any = REQUIRED, label: str = "", *, again: bool = False, what: str = "name", **rest: Any) -> Any:
    """One value or more, as a tuple, each once: "a,b" or a list. `again`: a command takes the option again instead of commas."""
    kept, more = _split(rest)
    reader = Parameter(lambda value: read_several(value, read, not again, what), label, item=read if again else None, more=more)
    return declare(dataclasses.replace(reader, default=default, **({"column": "string"} | kept)))


def same(question: type, name: str, **changes: Any) -> Any:
    """The field of another question, but for what is said otherwise here."""
    return declare(dataclasses.replace(parameter(question, name), name="", **changes))


def among(
    options: Sequence[Any] | Mapping[Any, str], default: Any = REQUIRED, label: str = "", *, dial: str = "choice", **rest: Any
) -> Any:
    """One of a few values; where they are a mapping, each with its words."""
    kept, more = _split(rest)
    listed, column = tuple(options), _column(tuple(options))
    if isinstance(options, Mapping):
        kept.setdefault("shown", dict(options))
    if dial == "span":
        more = {"steps": list(listed), **more}
    reader = Parameter(lambda value: read_option(value, listed), label, options=lambda: listed, column=column, dial=dial, more=more)
    ends = {"low": listed[0], "high": listed[-1]} if dial == "span" else {}
    return declare(dataclasses.replace(reader, default=default, **ends, **kept))


def one_of(
    names: Callable[[], Iterable[str]], default: Any = REQUIRED, label: str = "", *, find: Read | None = None, dial: str = "", **rest: Any
) -> Any:
    """A name of a list that grows, such as the registry's machines. `find` accepts other spellings and returns the one in the list."""
    kept, more = _split(rest)

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise BadValue(f"{value!r} is not a name; write one in quotes")
        return str(find(value)) if find is not None else str(read_option(value, tuple(names()), label.lower() or "option"))

    return declare(
        dataclasses.replace(Parameter(read, label, options=names, column="string", dial=dial, more=more), default=default, **kept)
    )


def switch(default: bool = False, label: str = "", **rest: Any) -> Any:
    kept, more = _split(rest)
    return declare(dataclasses.replace(Parameter(read_flag, label, column="bool", dial="switch", more=more), default=default, **kept))


def _split(rest: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Parameter knows, and what only a dial does."""
    own = (
        "about", "shown", "tried", "flag", "metavar", "group", "example", "alone", "excludes", "column", "dial", "means"
    )  # fmt: skip
    return {name: rest[name] for name in own if name in rest}, {name: value for name, value in rest.items() if name not in own}


def _column(options: Sequence[Any]) -> str:
    kinds = {type(option) for option in options}
    return "bool" if kinds == {bool} else "int64" if kinds == {int} else "double" if kinds <= {int, float} else "string"


def words(shown: Words, value: Any) -> str:
    """What a list shows for a value."""
    if isinstance(shown, Mapping):
        return str(shown[value])
    return shown(value) if callable(shown) else shown.format(value)
