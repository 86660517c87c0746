"""glossary.toml -> terms: what labs, cards and reports use as if everybody knew it, each in one sentence and with one figure.

    terms()["h100"].says             "A data-centre GPU by NVIDIA, …"
    terms()["h200"].figure.value     "141 GiB"

The sentences are read at once, the figures are computed when somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from ironlaw.claims import compute, row
from ironlaw.errors import BadRegistry
from ironlaw.registry import evidence
from ironlaw.registry.loader import folder, read, require
from ironlaw.registry.machine_figures import machine_figure
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.slots import hard_coded_figures
from ironlaw.units import UNITS, show, show_capacity, significant

# group -> its heading. NAMED are the groups of things that have a name: explaining one gives no answer away.
GROUPS = {
    "machine": "Machines", "model": "Models", "format": "Number formats", "unit": "Units", "chip": "The chip", "software": "Software",
    "speed": "How fast", "serving": "Serving", "decisions": "Decisions about people",
}  # fmt: skip
NAMED = ("machine", "model", "format", "unit")


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """As shown: `memory bandwidth`, `3.35 TB/s`, and where it comes from."""

    label: str
    value: str
    source: str


@dataclass(frozen=True)
class Term:
    """`spellings`: the term itself first. `entry` and `cited` are the file's `figure` and `source`."""

    id: str
    spellings: tuple[str, ...]
    group: str
    says: str
    entry: Any
    cited: str

    @property
    def name(self) -> str:
        return self.spellings[0]

    @property
    def where(self) -> str:
        return f"glossary.toml [{self.id}]"

    @cached_property
    def amount(self) -> tuple[float, str]:
        """The figure as a number, and its unit."""
        if isinstance(self.entry, str):
            machine, name = self._machine()
            figure = machine_figure(hardware(machine), name, self.where)
            return figure.value, figure.unit
        _, expression, unit = self.entry
        return float(compute(expression, self.where, {"row": row})), unit

    @cached_property
    def figure(self) -> ShownFigure:
        value, unit = self.amount
        if isinstance(self.entry, str):
            machine, name = self._machine()
            figure = machine_figure(hardware(machine), name, self.where)
            shown = show_capacity(value) if figure.is_size else readable(value, "" if unit == "SM" else unit)
            source = figure.source or f"registry, hardware {machine}"
            return ShownFigure(f"{hardware(machine).name.partition(',')[0]}, {figure.label}", shown, source)
        return ShownFigure(str(self.entry[0]), readable(value, unit), _source(self.cited, self.where))

    def _machine(self) -> tuple[str, str]:
        slug, colon, name = str(self.entry).partition(": ")
        if not colon:
            raise BadRegistry(f"{self.where}: the figure {self.entry!r} names no machine; write it as 'h100_sxm: bandwidth'")
        return slug, name


@cache
def terms() -> Mapping[str, Term]:
    """All terms, by id, in the file's order."""
    every = {name: _term(name, table) for name, table in read(folder("glossary.toml")).items()}
    owner: dict[str, str] = {}
    for term in every.values():
        for spelling in term.spellings:
            other = owner.setdefault(spelling.lower(), term.id)
            if other != term.id:
                raise BadRegistry(f"{term.where}: {spelling!r} is a spelling of [{other}] too; leave it to one of them")
    return every


def readable(value: float, unit: str) -> str:
    """A figure to read: with a prefix, as a share, or as a count."""
    if unit in UNITS:
        return show(value, unit)
    if not unit and abs(value) >= 1e6:
        size, word = (1e9, "billion") if abs(value) >= 1e9 else (1e6, "million")
        return f"{significant(value / size)} {word}"
    return f"{significant(value)} {unit}".strip()


def _source(cited: str, where: str) -> str:
    """`workload NAME` and `evidence MACHINE/FILE` are looked up; any other text is the source itself."""
    kind, _, name = cited.partition(" ")
    if kind == "workload":
        return f"computed from the model's graph; {about(name)['source']}"
    if kind == "evidence":
        try:
            return evidence.file(name).source
        except BadRegistry as error:
            raise BadRegistry(f"{where}: {error}") from None
    return cited


def _term(name: str, table: Any) -> Term:
    where = f"glossary.toml [{name}]"
    require(where, table, ("term", "group", "says", "figure"))
    if table["group"] not in GROUPS:
        raise BadRegistry(f"{where}: group is {table['group']!r}; choose one of {', '.join(GROUPS)}")
    entry, cited = table["figure"], str(table.get("source", ""))
    if not isinstance(entry, str):
        if not isinstance(entry, list) or len(entry) != 3 or not all(isinstance(part, str) for part in entry):
            raise BadRegistry(f"{where}: the figure is {entry!r}; write a machine's ('h100_sxm: bandwidth') or [label, expression, unit]")
        if not cited:
            raise BadRegistry(f"{where}: the computed figure has no source; add `source = …` there")
    if typed := hard_coded_figures(str(table["says"])):
        raise BadRegistry(f"{where}: {typed[0]!r} is typed in its sentence; leave figures to `figure`, which computes them")
    return Term(name, (str(table["term"]), *table.get("also", ())), table["group"], str(table["says"]), entry, cited)
