"""What the labs ask: the questions behind the answers in a ledger, with today's keys.

A ledger may hold labs that are not installed here, or questions as they once were: those keep the names that the ledger has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from ironlaw import lab_names, own_labs
from ironlaw.errors import IronlawError
from ironlaw.kit import journey, lab_words, question_sheet
from ironlaw.kit.question_texts import Asked, plain, text_of
from ironlaw.recall.beliefs import LABS
from ironlaw.units import parted


@dataclass(frozen=True)
class Choice:
    """An option of a question: what it says, and the belief that leads to it."""

    label: str
    value: float | str
    misconception: str = ""


@dataclass(frozen=True)
class Item:
    """One question. `answer` is today's key, or None where there is nothing to compare with; `right` the id of the option that fits it."""

    lab: str
    name: str
    kind: str = ""
    text: str = ""
    choices: Mapping[str, Choice] = field(default_factory=dict)
    answer: float | str | None = None
    right: str = ""
    scale: str = ""
    unit: str = ""

    @property
    def title(self) -> str:
        """What it asks; a gap in a sentence shows the sentence."""
        return (f"“{self.text}”" if self.kind == "blank" else Asked(self.text).line) if self.text else self.name


@dataclass(frozen=True)
class LabSheet:
    slug: str
    title: str
    items: Mapping[str, Item] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)  # place -> what the rail calls it
    known: bool = False

    @property
    def name(self) -> str:
        return lab_names.name(self.slug) or self.title

    @property
    def heading(self) -> str:
        """`Lab 07: The Kernel Fusion Dividend`; the title alone where the lab has no number."""
        return self.title if self.name == self.title else f"{self.name}: {self.title}"

    @cached_property
    def required(self) -> frozenset[str]:
        """What has to be answered before the lab counts as finished: everything but its challenges."""
        return frozenset(name for name, item in self.items.items() if item.kind != "number")

    @cached_property
    def asked_for(self) -> frozenset[tuple[str, str]]:
        """The same questions, each with its lab, which is how answers are looked up."""
        return frozenset((self.slug, name) for name in self.required)


def sheets(slugs: Iterable[str]) -> dict[str, LabSheet]:
    """Each lab's sheet, in the order of the course."""
    return {slug: sheet(slug) for slug in sorted(set(slugs), key=lab_names.order)}


@cache
def installed() -> frozenset[str]:
    """Ours and the instructor's own. A name from a file is compared with these before anything is looked up by it."""
    ours = (path.parent.name for path in LABS.glob("[!_]*/questions.toml"))
    return frozenset([*ours, *(lab.slug for lab in own_labs.found() if not lab.fault)])


def sheet(slug: str) -> LabSheet:
    return _sheet(slug) if slug in installed() else LabSheet(slug, slug)


@cache
def _sheet(slug: str) -> LabSheet:
    folder = LABS / slug if (LABS / slug).is_dir() else own_labs.folder_of(slug) or LABS / slug
    try:
        asked = question_sheet.load(folder / "questions.toml")
        text = lab_words.load(folder / "words.md", asked.premises)
        rail = {place.name: place.label for place in journey.places(asked)}
    except IronlawError:  # a lab that someone is writing
        return LabSheet(slug, slug)
    items = {name: _item(slug, question, text) for name, question in asked.questions.items()}
    return LabSheet(slug, plain(text.sections.get("title", slug)), items, rail, True)


def _item(lab: str, question: question_sheet.Question, text: lab_words.Words) -> Item:
    choices = {option.id: Choice(plain(option.label), option.value, option.misconception) for option in question.options}
    try:
        answer, right = question.answer, question.right.id if choices else ""
    except IronlawError:
        answer, right = None, ""
    unit = question.unit or said_unit(choices.values())
    asked = text_of(question, text)
    if asked and question.kind == "blank":
        before = plain(text.sections.get(f"{question.name.partition('_')[0]}.blanks", ""), text.premises)
        asked = f"{before.strip('… ')} … {asked.strip('… ')} …".lstrip()
    return Item(lab, question.name, question.kind, asked, choices, answer, right, question.scale, unit)


def said_unit(choices: Iterable[Choice]) -> str:
    """What stands after the figure in every option that is written with its own value: `%` of `8%`, and nothing of `1,000 ms` for 1 s."""
    units = set()
    for one in choices:
        number, unit = parted(one.label)
        if isinstance(one.value, (int, float)) and number.replace(",", "") == f"{one.value:g}":
            units.add(unit)
    return units.pop() if len(units) == 1 else ""
