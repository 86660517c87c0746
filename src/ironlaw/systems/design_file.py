"""A question asked by a design: tables of named figures, in a TOML file or a mapping, every name and value checked before anything is
computed. A parameter's `group` is its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ironlaw.errors import BadValue, IronlawError, unknown
from ironlaw.files import read_toml
from ironlaw.systems.fields import REQUIRED, Parameter, parameters
from ironlaw.systems.question import Question

D = TypeVar("D", bound="Design")
Tables = Mapping[str, Any]


class Design(Question):
    @classmethod
    def read(cls: type[D], design: str | Path | Tables) -> D:
        """Reads a TOML file, or its tables."""
        return cls(**cls.given(design if isinstance(design, Mapping) else read_toml(design, "a design", "docs/designs.md has examples")))

    @classmethod
    def given(cls, tables: Tables) -> dict[str, Any]:
        """What the tables say of each parameter."""
        by_table: dict[str, dict[str, Parameter]] = {}
        for name, one in parameters(cls).items():
            by_table.setdefault(one.group, {})[name] = one
        lists = by_table.pop("", {})  # [[service]] and the like, read whole
        refuse_tables(tables, [*by_table, *lists])
        values = {name: one.read(tables.get(name)) for name, one in lists.items()}
        for table, fields in by_table.items():
            optional = all(one.default is not REQUIRED for one in fields.values())
            values |= read_table(table, tables.get(table, {} if optional else None), fields)
        return values


def read_table(name: str, given: Any, fields: Mapping[str, Parameter]) -> dict[str, Any]:
    """One table: unknown keys and bad values refused, what is left out filled in."""
    if not isinstance(given, Mapping):
        wanted = ", ".join(f"{key} = {one.example or '…'}" for key, one in fields.items() if one.default is REQUIRED)
        raise BadValue(f"there is no table [{name}]; add one" + (f" with {wanted}" if wanted else ""), name)
    for key in given:
        if key not in fields:
            raise unknown(f"key of [{name}]", key, fields, field=key)
    return {key: _value(name, key, given, one) for key, one in fields.items()}


def refuse_tables(data: Tables, known: Iterable[str]) -> None:
    for name in data:
        if name not in known:
            raise unknown("table of a design", name, known)


def _value(table: str, key: str, given: Tables, one: Parameter) -> Any:
    if key not in given:
        if one.default is REQUIRED:
            raise BadValue(f"[{table}] has no {key}; add `{key} = {one.example or '…'}`", key)
        return one.default
    try:
        return one.read(given[key])
    except IronlawError as error:
        raise BadValue(f"{key} in [{table}]: {error}", key) from None
