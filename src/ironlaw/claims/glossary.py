"""glossary.toml -> terms: what labs, cards and reports use as if everybody knew it, each in one sentence and with one figure.

    terms()["h100"].says             "A data-centre GPU by NVIDIA, …"
    terms()["h200"].figure.value     "141 GiB"

The sentences are read at once, the figures are computed when somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder, read, require
from ironlaw.slots import hard_coded_figures

if TYPE_CHECKING:
    from ironlaw.claims.glossary_figures import ShownFigure

# group -> its heading. NAMED are the groups of things that have a name: explaining one gives no answer away.
GROUPS = {
    "machine": "Machines", "model": "Models", "format": "Number formats", "unit": "Units", "chip": "The chip", "software": "Software",
    "speed": "How fast", "serving": "Serving", "decisions": "Decisions about people",
}  # fmt: skip
NAMED = ("machine", "model", "format", "unit")


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
        from ironlaw.claims.glossary_figures import amount  # brings machines, models and evidence: marking a word needs none of them

        return amount(self.entry, self.where)

    @cached_property
    def figure(self) -> ShownFigure:
        from ironlaw.claims.glossary_figures import shown

        return shown(self.entry, self.cited, self.where)


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
