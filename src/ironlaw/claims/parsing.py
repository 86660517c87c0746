"""TOML -> claims, each checked; FORMAT.md beside this file is the grammar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ironlaw.claims.judging import PLAIN_UNITS, RELATIONS, VERDICTS, Claim
from ironlaw.claims.source import Source
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import read
from ironlaw.units import UNITS

REQUIRED = ("says", "value", "unit", "who", "source", "date", "expression", "tolerance", "expected", "why")
OPTIONAL = ("relation", "upto", "on", "cases", "measured", "at", "slots", "facts")
OF_SOURCE = ("rows", "figure", "clocks", "across", "keep", "premises", "names", "relation", "differs", "published")


def load(path: Path) -> Iterator[Claim]:
    """The claims of one file."""
    tables = read(path)
    for name, table in tables.items():
        where = f"{path.name} [{name}]"
        _check(where, table)
        upto = table.get("upto")
        yield Claim(
            name, table["says"], float(table["value"]), table["unit"], table["who"], table["source"], str(table["date"]),
            table["expression"], float(table["tolerance"]), table["expected"], table["why"], table.get("relation", "about"),
            None if upto is None else float(upto), tuple(table.get("on", ())), tuple(map(_premises, table.get("cases", ()))),
            tuple(_sources(where, table.get("measured", []), tables)), _premises(table.get("at", {})),
            {key: _slot(where, key, slot) for key, slot in table.get("slots", {}).items()}, tuple(table.get("facts", ())), path.name,
        )  # fmt: skip


def _check(where: str, table: Any) -> None:
    for key in REQUIRED:
        if not isinstance(table, Mapping) or not str(table.get(key, "")).strip():
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
    for key in table:
        if key not in REQUIRED + OPTIONAL:
            raise BadRegistry(f"{where}: unknown key {key!r}; known: {', '.join(REQUIRED + OPTIONAL)}")
    _choose(where, "expected", table["expected"], VERDICTS)
    relation = _choose(where, "relation", table.get("relation", "about"), RELATIONS)
    if (relation == "between") != ("upto" in table):
        raise BadRegistry(f'{where}: `upto` and relation "between" go together; give both or neither')
    if (table["expected"] == "depends") != bool(table.get("on")):
        raise BadRegistry(f'{where}: `on` and expected "depends" go together; list the premises that decide, or give neither')
    if table["unit"] not in UNITS and table["unit"] not in PLAIN_UNITS:
        raise BadRegistry(f"{where}: unknown unit {table['unit']!r}; known: {', '.join((*UNITS, *PLAIN_UNITS))}")
    if table["tolerance"] < 0:
        raise BadRegistry(f"{where}: tolerance is {table['tolerance']!r}; give a share of the value, such as 0.05")


def _choose(where: str, key: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise BadRegistry(f"{where}: {key} is {value!r}; choose one of {', '.join(allowed)}")
    return str(value)


def _sources(where: str, tables: Any, claims: Mapping[str, Any]) -> Iterator[Source]:
    if isinstance(tables, str):  # the readings of another claim about the same quantity
        if not isinstance(claims.get(tables), Mapping) or not isinstance(claims[tables].get("measured"), list):
            raise BadRegistry(f"{where}: measured names {tables!r}, which has no [[{tables}.measured]] in this file; write the table here")
        where, tables = f"{where.partition(' ')[0]} [{tables}]", claims[tables]["measured"]
    if not isinstance(tables, list):
        raise BadRegistry(f"{where}: measured is {tables!r}; write [[…measured]] tables, or the id of a claim of this file")
    for table in tables:
        for key in ("rows", "figure"):
            if not isinstance(table, Mapping) or not table.get(key):
                raise BadRegistry(f"{where}: measured has no {key}; see claims/FORMAT.md")
        for key in table:
            if key not in OF_SOURCE:
                raise BadRegistry(f"{where}: unknown key {key!r} of measured; known: {', '.join(OF_SOURCE)}")
        if table.get("published") and (table.get("clocks") or table.get("across")):
            raise BadRegistry(f"{where}: a published table has no clocks and no machines; take `clocks` and `across` out")
        if table.get("relation"):
            _choose(f"{where} measured", "relation", table["relation"], RELATIONS)
        yield Source(
            f"{where} measured", table["rows"], table["figure"], tuple(table.get("clocks", ())), bool(table.get("across")),
            table.get("keep", ""), _premises(table.get("premises", {})), table.get("names", {}), table.get("relation", ""),
            table.get("differs", ""), table.get("published", ""),
        )  # fmt: skip


def _premises(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _slot(where: str, name: str, slot: Any) -> tuple[str, str]:
    if not isinstance(slot, list) or len(slot) != 2 or not all(isinstance(part, str) for part in slot):
        raise BadRegistry(f"{where}: slots.{name} is {slot!r}; write ['expression', 'unit'], the unit empty for a plain number")
    return slot[0], slot[1]
