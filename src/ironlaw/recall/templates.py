"""questions/*.toml -> templates. One file per topic, one table per template; its name is permanent, since ledgers keep it.

    [ridge_point]
    lab = "lab_11_roofline"      # where it is learned, or "review"
    concept = "roofline"         # a node of concepts.toml
    first = 1                    # the ten to start with are numbered; the others come after them
    kind = "numeric"             # numeric | choice | order | explain
    draw.device = ["h100_sxm", "t4"]             # one of a list, or of what an expression gives; later ones may use earlier ones
    draw.format = '[f for f in hardware(device).peaks if f in ("fp16", "int8")]'
    when = 'True'                # draws for which this is false are drawn again
    show.peak = ['hardware(device).peak(format)', "FLOP/s"]    # slots: [expression, unit, digits]; drawn values are slots too
    ask = "… {{ device }} … {{ peak }} …"
    key = 'hardware(device).ridge(format)'       # Python over the engine: nothing is typed
    unit = "FLOP/B"
    tolerance = 0.03             # a share of the key: how near counts
    wrong = [{ key = '…', misconception = "…" }] # mistakes, computed like the key
    working = "… {{ key }}"      # shown with the key

choice   either `key` and `wrong` as above (shown as options), or `options = [{ id, label, misconception }]` and a key that gives an id.
order    `items = [{ id, label, value, mistaken }]`, smallest value first; `misconception` is that of who sorts by `mistaken`.
explain  `rubric = ["…"]`, points to find in one's own answer; `enough` of them (default: all but one) make it right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadRegistry, unknown
from ironlaw.recall.expressions import is_typed
from ironlaw.registry.loader import read

HERE = Path(__file__).parent
KINDS = ("numeric", "choice", "order", "explain")
FIELDS = {
    "lab", "concept", "kind", "draw", "when", "show", "ask", "key", "unit", "tolerance", "wrong", "working", "options", "items",
    "misconception", "rubric", "enough", "digits", "first",
}  # fmt: skip
NEEDED = {"numeric": ("key", "tolerance", "working"), "choice": ("key", "working"), "order": ("items", "working"), "explain": ("rubric",)}


@dataclass(frozen=True, slots=True)
class Wrong:
    """A mistake, computed: the answer of somebody who holds the belief."""

    key: str
    misconception: str


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    label: str
    misconception: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One of the things to put in order, and what it is sorted by; `mistaken`: what somebody with the belief sorts by."""

    id: str
    label: str
    value: str
    mistaken: str = ""


@dataclass(frozen=True)
class Template:
    """A question whose figures are drawn afresh each time it is asked."""

    id: str
    topic: str
    lab: str
    concept: str
    kind: str
    ask: str
    where: str
    draw: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    show: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    unit: str = ""
    tolerance: float = 0.0
    digits: int = 3
    working: str = ""
    wrong: tuple[Wrong, ...] = ()
    options: tuple[Option, ...] = ()
    items: tuple[Item, ...] = ()
    misconception: str = ""
    rubric: tuple[str, ...] = ()
    enough: int = 0
    first: int = 0  # its place among those to start with; 0: none

    @property
    def misconceptions(self) -> set[str]:
        """Every belief that an answer to it can show."""
        named = {wrong.misconception for wrong in self.wrong} | {option.misconception for option in self.options} | {self.misconception}
        return named - {""}


def template(name: str) -> Template:
    if name not in templates():
        raise unknown("card", name, templates(), "a table in a file of recall/questions/")
    return templates()[name]


def topics() -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.topic for found in templates().values()))


@cache
def templates() -> Mapping[str, Template]:
    """All of them, by id."""
    found: dict[str, Template] = {}
    for path in sorted((HERE / "questions").glob("*.toml")):
        for new in load(path):
            if new.id in found:
                raise BadRegistry(f"{new.where}: {found[new.id].topic}.toml has a card of that id; give it another")
            found[new.id] = new
    return found


def load(path: Path) -> list[Template]:
    return [_template(path, name, table) for name, table in read(path).items()]


def _template(path: Path, name: str, table: Any) -> Template:
    where = f"{path.name} [{name}]"
    if not isinstance(table, Mapping) or table.get("kind") not in KINDS:
        raise BadRegistry(f"{where}: a card has a kind; choose one of {', '.join(KINDS)}")
    for key in ("lab", "concept", "ask", *NEEDED[table["kind"]]):
        if not str(table.get(key, "")).strip():
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
    for key in table:
        if key not in FIELDS:
            raise BadRegistry(f"{where}: unknown key {key!r}; known: {', '.join(sorted(FIELDS))}")
    plain = {key: table[key] for key in ("lab", "concept", "kind", "ask", "when", "unit", "working", "misconception") if key in table}
    made = Template(
        id=name, topic=path.stem, where=where, **plain, draw=table.get("draw", {}), show=table.get("show", {}),
        key=str(table.get("key", "")), tolerance=float(table.get("tolerance", 0.0)), digits=int(table.get("digits", 3)),
        wrong=tuple(Wrong(entry["key"], entry["misconception"]) for entry in table.get("wrong", ())),
        options=tuple(Option(entry["id"], entry["label"], entry.get("misconception", "")) for entry in table.get("options", ())),
        items=tuple(Item(entry["id"], entry["label"], entry["value"], entry.get("mistaken", "")) for entry in table.get("items", ())),
        rubric=tuple(table.get("rubric", ())), enough=int(table.get("enough", max(1, len(table.get("rubric", ())) - 1))),
        first=int(table.get("first", 0)),
    )  # fmt: skip
    _check(made)
    return made


def _check(made: Template) -> None:
    computed = [made.key, *(wrong.key for wrong in made.wrong), *(part for item in made.items for part in (item.value, item.mistaken))]
    for expression in filter(None, computed):
        if is_typed(expression, made.draw):
            raise BadRegistry(f"{made.where}: {expression!r} is typed; compute it from the engine or the registry")
    if made.kind == "choice" and bool(made.options) == bool(made.wrong):
        raise BadRegistry(f"{made.where}: a choice has either options with labels, or wrong answers that are computed")
    if made.kind == "numeric" and not (0 < made.tolerance < 1 and made.wrong):
        raise BadRegistry(f"{made.where}: a numeric card has a tolerance between 0 and 1 and at least one mistake under `wrong`")
    for group in (made.options, made.items):
        if len({entry.id for entry in group}) != len(group):
            raise BadRegistry(f"{made.where}: two entries have one id; give each its own")
    if made.kind == "order" and (len(made.items) < 3 or all(item.mistaken for item in made.items) != bool(made.misconception)):
        raise BadRegistry(f"{made.where}: an order has three items or more; `mistaken` on every one goes with a misconception")
