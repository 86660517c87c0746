"""Readings from tables that others published: rows by role, one figure a group, as evidence gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from ironlaw.claims.expressions import compute, evaluate
from ironlaw.claims.filters import agrees
from ironlaw.claims.source import Source
from ironlaw.errors import unknown
from ironlaw.registry.publications import Cell, Published, published

PREMISES = ("text", "count")  # columns that say what was run; those with a unit are what came out

Group = dict[str, Mapping[str, Cell]]


def groups(source: Source) -> Iterator[tuple[float, dict[str, Any], str]]:
    """Figure, premises and table of each group of rows that differ in nothing but their role."""
    table = published(source.published)
    for column in sorted({key for wanted in source.rows.values() for key in wanted} - table.units.keys()):
        raise unknown(f"column of published {table.slug}", column, table.units)
    columns = [name for name, unit in table.units.items() if unit in PREMISES]
    open_in = {role: [name for name in columns if _is_open(wanted.get(name))] for role, wanted in source.rows.items()}
    shared = [name for name in columns if all(name in names for names in open_in.values())]
    for group in _together(source, table, shared):
        if source.keep and not compute(source.keep, source.where, group):
            continue
        recorded = {name: group[role][name] for role, names in open_in.items() for name in names}
        premises = {source.names.get(key, key): value for key, value in recorded.items() if source.names.get(key, key)}
        yield evaluate(source.figure, source.where, group), {**premises, **source.premises}, f"{table.name}, {table.date}"


def _is_open(wanted: Any) -> bool:
    """A filter that more than one value passes."""
    return wanted is None or isinstance(wanted, Mapping)


def _together(source: Source, table: Published, columns: list[str]) -> Iterator[Group]:
    by_role = [
        [row for row in table.rows if all(agrees(row[key], value) for key, value in wanted.items())] for wanted in source.rows.values()
    ]
    for rows in product(*by_role):
        if all(row[name] == rows[0][name] for row in rows for name in columns):
            yield dict(zip(source.rows, rows, strict=True))
