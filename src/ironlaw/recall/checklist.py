"""The mastery checklist (ten can-do statements), its score bands, and the five prompts of the written reflection.

A tick is a claim. The cards that back it are the record, so that the two can be laid side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ironlaw.errors import BadRegistry, unknown
from ironlaw.recall.concepts import GOOD, card_mastery
from ironlaw.recall.schedule import Standing
from ironlaw.recall.templates import template
from ironlaw.registry.loader import read

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Statement:
    """Something a learner can do, and the cards that would show it."""

    id: str
    says: str
    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """What to do with a score of at least `least`."""

    least: int
    label: str
    action: str


@dataclass(frozen=True, slots=True)
class Prompt:
    id: str
    says: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, whether it is ticked, and what the cards say: the mean mastery of those that back it."""

    statement: Statement
    ticked: bool
    record: float
    answered: int  # of its cards

    @property
    def backed(self) -> bool:
        return self.record >= GOOD

    @property
    def gap(self) -> str:
        """ "unbacked" where a tick has no record, "modest" where a record has no tick, else empty."""
        return "" if self.ticked == self.backed else "unbacked" if self.ticked else "modest"


@dataclass(frozen=True, slots=True)
class Sheet:
    statements: Mapping[str, Statement]
    bands: tuple[Band, ...]  # highest first
    prompts: Mapping[str, Prompt]

    def statement(self, name: str) -> Statement:
        if name not in self.statements:
            raise unknown("can-do statement", name, self.statements, "a table in recall/checklist.toml")
        return self.statements[name]

    def prompt(self, name: str) -> Prompt:
        if name not in self.prompts:
            raise unknown("prompt", name, self.prompts, "a table in recall/checklist.toml")
        return self.prompts[name]


@cache
def sheet() -> Sheet:
    data = read(HERE / "checklist.toml")
    statements = {name: Statement(name, table["says"], tuple(table["cards"])) for name, table in data["can"].items()}
    for statement in statements.values():
        if not statement.cards:
            raise BadRegistry(f"checklist.toml [can.{statement.id}] names no card; name those that would show it")
        for card in statement.cards:
            template(card)
    bands = tuple(sorted((Band(band["least"], band["label"], band["action"]) for band in data["band"]), key=lambda band: -band.least))
    return Sheet(statements, bands, {name: Prompt(name, table["says"]) for name, table in data["prompt"].items()})


def claims(ticks: Mapping[str, bool], standing: Mapping[str, Standing]) -> list[Claim]:
    made = []
    for statement in sheet().statements.values():
        known = [standing[card] for card in statement.cards]
        record = sum(map(card_mastery, known)) / len(known)
        made.append(Claim(statement, ticks.get(statement.id, False), record, sum(bool(one.reviews) for one in known)))
    return made


def score(ticks: Mapping[str, bool]) -> int:
    return sum(ticks.get(name, False) for name in sheet().statements)


def band(points: int) -> Band:
    """The score's band: what it says, and what to do."""
    return next(one for one in sheet().bands if points >= one.least)


def weak(made: list[Claim]) -> list[str]:
    """The concepts to review: those of the cards behind what is not ticked, or is ticked without a record."""
    names = [template(card).concept for one in made if not one.ticked or not one.backed for card in one.statement.cards]
    return list(dict.fromkeys(names))
