"""A design in TOML: tables of named figures, every name and value checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import units
from ironlaw.cli.options import Parser, add_json
from ironlaw.errors import BadValue, IronlawError, unknown
from ironlaw.files import read_toml
from ironlaw.systems.fields import HUGE, LARGEST

REQUIRED = object()
Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Field:
    """A key of a table: how its value is read, and what stands for it where it is left out."""

    read: Read
    usual: Any = REQUIRED
    example: str = "…"


Table = Mapping[str, Field]


def add(parser: Parser, command: str) -> None:
    """The file, or a first one to start from."""
    parser.usage = f"ironlaw {command} FILE.toml [--json] | --example"
    parser.add_argument("file", metavar="FILE.toml", nargs="?", help="the design; docs/designs.md has the grammar")
    parser.add_argument("--example", action="store_true", help="print a design to start from; nothing is computed")
    add_json(parser)


def raw(args: Any, command: str) -> dict[str, Any]:
    """The tables as they stand in the file."""
    if not args.file:
        raise BadValue(f"`ironlaw {command}` needs a design; write one with `ironlaw {command} --example > design.toml`")
    if args.example:
        raise BadValue("FILE.toml and --example are two requests; leave one of them out")
    return read_toml(args.file, "a design", f"`ironlaw {command} --example` prints one to start from")


def read_table(name: str, given: Any, fields: Table) -> dict[str, Any]:
    """One table: unknown keys and bad values refused, what is left out filled in."""
    if not isinstance(given, Mapping):
        wanted = ", ".join(f"{key} = {field.example}" for key, field in fields.items() if field.usual is REQUIRED)
        raise BadValue(f"there is no table [{name}]; add one" + (f" with {wanted}" if wanted else ""), name)
    for key in given:
        if key not in fields:
            raise unknown(f"key of [{name}]", key, fields, field=key)
    return {key: _value(name, key, given, field) for key, field in fields.items()}


def refuse_tables(data: Mapping[str, Any], known: Iterable[str]) -> None:
    for name in data:
        if name not in known:
            raise unknown("table of a design", name, known)


def _value(table: str, key: str, given: Mapping[str, Any], field: Field) -> Any:
    if key not in given:
        if field.usual is REQUIRED:
            raise BadValue(f"[{table}] has no {key}; add `{key} = {field.example}`", key)
        return field.usual
    try:
        return field.read(given[key])
    except IronlawError as error:
        raise BadValue(f"{key} in [{table}]: {error}", key) from None


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise BadValue(f"{value!r} is not a whole number from 1 to {LARGEST:,}; write one such as 8")
    return value


def whole(value: Any) -> int:
    """A count that may be 0."""
    return 0 if value == 0 and not isinstance(value, bool) else count(value)


def figure(unit: str = "", zero: bool = False, example: str = "2.5") -> Read:
    """A finite number above 0 (or from 0 on); with a unit, as text too: `"5 ms"`."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)) or (isinstance(value, str) and not unit):
            raise BadValue(f"{value!r} is not a number; write one such as {example}")
        number = units.parse(value, unit or None)
        if not (0 < number <= HUGE or (zero and number == 0)):
            raise BadValue(f"{value!r} is out of range; give a figure {'of at least' if zero else 'above'} 0, such as {example}")
        return number

    return read


def share(value: Any) -> float:
    """From 0 to 1; as text, a percentage."""
    try:
        number = (
            float(value.strip().removesuffix("%")) / (100.0 if value.strip().endswith("%") else 1.0) if isinstance(value, str) else value
        )
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= 1 or math.isnan(number):
        raise BadValue(f'{value!r} is not a share; write 0.15 or "15%"')
    return float(number)


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 100:
        raise BadValue(f'{value!r} is not a name; write up to 100 letters, such as "model"')
    return value.strip()


def one_of(names: Iterable[str]) -> Read:
    known = tuple(names)

    def read(value: Any) -> str:
        if value not in known:
            raise unknown("choice", value, known)
        return str(value)

    return read
