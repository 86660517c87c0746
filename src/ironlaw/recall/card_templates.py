"""questions/*.toml -> templates. One file per topic, one table per template; its name is permanent, since ledgers keep it.

    [ridge_point]
    name = "The ridge point of a machine"        # as lists call it: no answer in it
    lab = "lab_11_roofline"      # where it is learned, or "review"
    concept = "roofline"         # a node of concepts.toml
    first = 1                    # the ten to start with are numbered; the others come after them
    kind = "numeric"             # numeric | choice | order | explain
    draw.device = ["h100_sxm", "t4"]             # one of a list, or of an expression's values; later ones may use earlier ones
    draw.format = '[f for f in hardware(device).peaks if f in ("fp16", "int8")]'
    when = 'True'                # draws for which this is false are repeated
    show.peak = ['hardware(device).peak(format)', "FLOP/s in format"]    # slots: [expression, unit, digits]; drawn values are slots too
    ask = "… {{ device }} … {{ peak }} …"
    facts = ["device: bandwidth"]                # figures that the answer needs and `ask` leaves out: one tap away (recall/facts.py)
    key = 'hardware(device).ridge(format)'       # Python over the engine: nothing is hard-coded
    unit = "FLOP/B in format"    # or any unit: `in` a drawn format turns FLOP into OP for integers
    tolerance = 0.03             # relative to the key
    wrong = [{ key = '…', misconception = "…" }] # mistakes, computed like the key; only those that the belief leads to
    working = "… {{ key }}"      # shown with the key

choice   either `key` and `wrong` as above (shown as options), or `options = [{ id, label, misconception }]` and a key that gives an id;
         a misconception that depends on what is right is a table, `{ right id = "belief" }`, and may be missing.
order    `items = [{ id, label, value, mistaken }]`, smallest value first; `misconception` is the belief that sorts by `mistaken`.
explain  `rubric = ["…"]`, points to look for in one's own answer; `enough` of them (default: all but one) make it right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.errors import BadRegistry, unknown
from ironlaw.recall.card_expressions import is_hardcoded
from ironlaw.registry.loader import read

HERE = Path(__file__).parent
KINDS = ("numeric", "choice", "order", "explain")
FIELDS = {
    "name", "lab", "concept", "kind", "draw", "when", "show", "ask", "key", "unit", "tolerance", "wrong", "working", "options", "items",
    "misconception", "rubric", "enough", "digits", "first", "facts",
}  # fmt: skip
REQUIRED = {"numeric": ("key", "tolerance", "working"), "choice": ("key", "working"), "order": ("items", "working"), "explain": ("rubric",)}


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A mistake, computed: the answer of someone who holds the belief."""

    key: str
    misconception: str


@dataclass(frozen=True, slots=True)
class Option:
    """`misconception`: the belief behind choosing it wrongly; a table where it depends on what is right: `{ right id: belief }`."""

    id: str
    label: str
    misconception: str | Mapping[str, str] = ""

    @property
    def beliefs(self) -> set[str]:
        return {self.misconception} if isinstance(self.misconception, str) else set(self.misconception.values())

    def belief(self, right: str) -> str:
        """The belief that choosing it shows when `right` is right; empty where none is known."""
        return self.misconception if isinstance(self.misconception, str) else self.misconception.get(right, "")


@dataclass(frozen=True, slots=True)
class Item:
    """One of the things to put in order, and what it is sorted by; `mistaken`: what someone with the belief sorts by."""

    id: str
    label: str
    value: str
    mistaken: str = ""


@dataclass(frozen=True)
class Template:
    """A question whose figures are drawn afresh each time it is asked."""

    id: str
    name: str
    topic: str
    lab: str
    concept: str
    kind: str
    ask: str
    where: str
    draw: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    show: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[Any, ...] = ()
    key: str = ""
    unit: str = ""
    tolerance: float = 0.0
    digits: int = 3
    working: str = ""
    wrong: tuple[WrongAnswer, ...] = ()
    options: tuple[Option, ...] = ()
    items: tuple[Item, ...] = ()
    misconception: str = ""
    rubric: tuple[str, ...] = ()
    enough: int = 0
    first: int = 0  # its place among the cards to start with; 0: none of them

    @property
    def misconceptions(self) -> set[str]:
        """Every belief that an answer to it can show."""
        options: set[str] = set().union(*(option.beliefs for option in self.options))
        return ({wrong.misconception for wrong in self.wrong} | options | {self.misconception}) - {""}


def template(name: str) -> Template:
    if name not in templates():
        raise unknown("card", name, templates(), "a table in a file of recall/questions/")
    return templates()[name]


def topics() -> tuple[str, ...]:
    return tuple(dict.fromkeys(card.topic for card in templates().values()))


@cache
def templates() -> Mapping[str, Template]:
    """All of them, by id."""
    cards: dict[str, Template] = {}
    for path in sorted((HERE / "questions").glob("*.toml")):
        for card in load(path):
            if card.id in cards:
                raise BadRegistry(f"{card.where}: {cards[card.id].topic}.toml already has a card with this id; choose another")
            cards[card.id] = card
    return cards


def load(path: Path) -> list[Template]:
    return [_template(path, name, table) for name, table in read(path).items()]


def _template(path: Path, name: str, table: Any) -> Template:
    where = f"{path.name} [{name}]"
    if not isinstance(table, Mapping) or table.get("kind") not in KINDS:
        raise BadRegistry(f"{where}: a card has a kind; choose one of {', '.join(KINDS)}")
    for key in ("name", "lab", "concept", "ask", *REQUIRED[table["kind"]]):
        if not str(table.get(key, "")).strip():
            raise BadRegistry(f"{where} has no {key}; add `{key} = …` there")
    for key in table:
        if key not in FIELDS:
            raise BadRegistry(f"{where}: unknown key {key!r}; known: {', '.join(sorted(FIELDS))}")
    plain = {
        key: table[key] for key in ("name", "lab", "concept", "kind", "ask", "when", "unit", "working", "misconception") if key in table
    }
    card = Template(
        id=name, topic=path.stem, where=where, **plain, draw=table.get("draw", {}), show=table.get("show", {}),
        facts=tuple(table.get("facts", ())),
        key=str(table.get("key", "")), tolerance=float(table.get("tolerance", 0.0)), digits=int(table.get("digits", 3)),
        wrong=tuple(WrongAnswer(entry["key"], entry["misconception"]) for entry in table.get("wrong", ())),
        options=tuple(Option(entry["id"], entry["label"], entry.get("misconception", "")) for entry in table.get("options", ())),
        items=tuple(Item(entry["id"], entry["label"], entry["value"], entry.get("mistaken", "")) for entry in table.get("items", ())),
        rubric=tuple(table.get("rubric", ())), enough=int(table.get("enough", max(1, len(table.get("rubric", ())) - 1))),
        first=int(table.get("first", 0)),
    )  # fmt: skip
    _check(card)
    return card


def _check(card: Template) -> None:
    computed = [card.key, *(wrong.key for wrong in card.wrong), *(part for item in card.items for part in (item.value, item.mistaken))]
    for expression in filter(None, computed):
        if is_hardcoded(expression, card.draw):
            raise BadRegistry(f"{card.where}: {expression!r} is hard-coded; compute it from the engine or the registry")
    if card.kind == "choice" and bool(card.options) == bool(card.wrong):
        raise BadRegistry(f"{card.where}: a choice has either options with labels, or wrong answers that are computed")
    if card.kind == "numeric" and not 0 < card.tolerance < 1:
        raise BadRegistry(f"{card.where}: a numeric card has a tolerance between 0 and 1")
    for group in (card.options, card.items):
        if len({entry.id for entry in group}) != len(group):
            raise BadRegistry(f"{card.where}: two entries share an id; give each its own")
    if card.kind == "order" and (len(card.items) < 3 or all(item.mistaken for item in card.items) != bool(card.misconception)):
        raise BadRegistry(f"{card.where}: an order has at least three items; if it has a misconception, every item has `mistaken`")
