"""registry/published/*.toml -> tables that others measured and we quote, as strict as evidence: source, revision, hash, units.

    table = published("llama_cpp_scoreboard")
    table.value("size", quant="q8_0", imatrix="none")     in SI: bytes
    [row["ppl"] for row in table.rows]

published/FORMAT.md is the grammar.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from ironlaw.errors import BadRegistry, BadValue, unknown
from ironlaw.registry.loader import open_by_name, require, slugs
from ironlaw.units import parse

HEAD = ("name", "source", "revision", "date", "license", "figures", "sha256", "columns", "rows")
FIGURES = ("measured", "counted", "stated", "computed", "estimated", "fitted")  # what the figures of a table are
PLAIN = ("text", "number", "count")  # what a column holds where it has no unit
Cell = str | float


@dataclass(frozen=True, slots=True)
class Published:
    """One table of somebody else's, with where it stands. Figures are in SI."""

    slug: str
    name: str
    source: str
    revision: str
    date: str
    license: str
    figures: str  # of FIGURES
    sha256: str
    units: Mapping[str, str]  # of each column, as the source writes it: "GiB", "number", "text"
    rows: tuple[Mapping[str, Cell], ...]

    @property
    def citation(self) -> str:
        return f"{self.name}, revision {self.revision}, {self.date}"

    def where(self, **wanted: Cell) -> tuple[Mapping[str, Cell], ...]:
        """The rows whose cells are as wanted."""
        for column in wanted:
            self._know(column)
        return tuple(row for row in self.rows if all(row[column] == cell for column, cell in wanted.items()))

    def row(self, **wanted: Cell) -> Mapping[str, Cell]:
        """The one row whose cells are as wanted."""
        rows = self.where(**wanted)
        if len(rows) != 1:
            raise BadRegistry(f"published {self.slug} has {len(rows)} rows of {len(self.rows)} with {wanted}; name one")
        return rows[0]

    def value(self, column: str, **wanted: Cell) -> float:
        """A figure of that row."""
        self._know(column)
        cell = self.row(**wanted)[column]
        if isinstance(cell, str):
            raise BadRegistry(f"published {self.slug}: {column} is text ({cell!r}); ask `row(…)` for it")
        return cell

    def column(self, name: str) -> tuple[Cell, ...]:
        """One cell of each row, in the order of the source."""
        self._know(name)
        return tuple(row[name] for row in self.rows)

    def _know(self, column: str) -> None:
        if column not in self.units:
            raise unknown(f"column of published {self.slug}", column, self.units)


def publications() -> tuple[str, ...]:
    return slugs("published")


@cache
def published(name: str) -> Published:
    """A table by its slug: `published("llama_cpp_scoreboard")`."""
    return parse_table(*open_by_name("published", name, "published table", " (its FORMAT.md is the grammar)"))


def parse_table(slug: str, data: Mapping[str, Any]) -> Published:
    """What a file says, checked from head to last cell."""
    where = f"published {slug}"
    require(where, data, HEAD, " (published/FORMAT.md)")
    if extra := sorted(data.keys() - set(HEAD)):
        raise BadRegistry(f"{where}: unknown key {', '.join(extra)}; known: {', '.join(HEAD)}")
    if data["figures"] not in FIGURES:
        raise BadRegistry(f"{where}: figures is {data['figures']!r}; choose one of {', '.join(FIGURES)}")
    text = str(data["rows"]).strip()
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest != data["sha256"]:
        raise BadRegistry(
            f"{where}: its rows do not have the hash that the file states; restore them from {data['source']}, "
            f'or, if the source was read again, write sha256 = "{digest}"'
        )
    units = _units(where, data["columns"])
    words = {key: str(data[key]) for key in ("name", "source", "revision", "date", "license", "figures", "sha256")}
    return Published(slug, units=units, rows=_rows(where, text, units), **words)


def _units(where: str, columns: Any) -> Mapping[str, str]:
    if not isinstance(columns, Mapping):
        raise BadRegistry(f"{where}: columns is {columns!r}; write a table of name = [unit, what it is]")
    units = {}
    for name, entry in columns.items():
        if not (isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, str) and part for part in entry)):
            raise BadRegistry(f'{where}: column {name} is {entry!r}; write `{name} = ["GiB", "what it is"]`')
        unit = entry[0]
        try:
            if unit not in (*PLAIN, "%"):
                parse(f"1 {unit}")
        except BadValue as error:
            raise BadRegistry(f"{where}: column {name}: {error}; or write one of {', '.join(PLAIN)}, %") from None
        units[name] = unit
    return MappingProxyType(units)


def _rows(where: str, text: str, units: Mapping[str, str]) -> tuple[Mapping[str, Cell], ...]:
    lines = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(text)) if line]
    header, *body = lines
    if header != list(units):
        raise BadRegistry(f"{where}: its first line has the columns {', '.join(header)}, `columns` has {', '.join(units)}; make them equal")
    if not body:
        raise BadRegistry(f"{where} has no rows; add them under the line of columns")
    rows = []
    for number, line in enumerate(body, 1):
        if len(line) != len(header):
            raise BadRegistry(f"{where}, row {number} has {len(line)} cells, {len(header)} are needed: {','.join(line)}")
        at = f"{where}, row {number}, "
        rows.append(MappingProxyType({name: _cell(at + name, cell, units[name]) for name, cell in zip(header, line, strict=True)}))
    keys = [tuple(row.items()) for row in rows]
    if len(set(keys)) != len(keys):
        twice = next(dict(key) for key in keys if keys.count(key) > 1)
        raise BadRegistry(f"{where} has a row twice: {twice}; take one out")
    return tuple(rows)


def _cell(where: str, text: str, unit: str) -> Cell:
    """A cell in SI; nan where the source has no figure."""
    if unit == "text":
        if not text:
            raise BadRegistry(f"{where} is empty; write what the source says, or none")
        return text
    if text == "nan":
        return math.nan
    try:
        value = float(text)
        if unit == "count" and not (value >= 0 and value == int(value)):
            raise ValueError
    except ValueError:
        kind = "count" if unit == "count" else "number"
        raise BadRegistry(f"{where} is {text!r}, not a {kind}; write nan where the source has none") from None
    if not math.isfinite(value):
        raise BadRegistry(f"{where} is {text!r}; write a finite number")
    return value if unit in ("number", "count", "%") else parse(f"{text} {unit}")
