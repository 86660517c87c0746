"""The mastery checklist (ten can-do statements), its score bands, and the five prompts of the written reflection.

A tick is a claim. The answers to its cards are the record, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ironlaw.errors import BadRegistry, unknown
from ironlaw.recall.card_templates import template
from ironlaw.recall.concepts import GOOD, card_mastery
from ironlaw.recall.schedule import Standing
from ironlaw.registry.loader import read

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Statement:
    """Something a learner can do, and the cards that show it."""

    id: str
    says: str
    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Band:
    """What to do with a score of at minimum `minimum`."""

    minimum: int
    label: str
    action: str


@dataclass(frozen=True, slots=True)
class Prompt:
    id: str
    says: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, whether it is ticked, and what the cards say: their mean mastery."""

    statement: Statement
    ticked: bool
    mastery: float
    cards_answered: int

    @property
    def backed(self) -> bool:
        return self.mastery >= GOOD

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
            raise BadRegistry(f"checklist.toml [can.{statement.id}] names no card; name those that show it")
        for card in statement.cards:
            template(card)
    bands = tuple(sorted((Band(band["minimum"], band["label"], band["action"]) for band in data["band"]), key=lambda band: -band.minimum))
    return Sheet(statements, bands, {name: Prompt(name, table["says"]) for name, table in data["prompt"].items()})


def claims(ticks: Mapping[str, bool], standing: Mapping[str, Standing]) -> list[Claim]:
    rows = []
    for statement in sheet().statements.values():
        cards = [standing[card] for card in statement.cards]
        mastery = sum(map(card_mastery, cards)) / len(cards)
        rows.append(Claim(statement, ticks.get(statement.id, False), mastery, sum(bool(card.reviews) for card in cards)))
    return rows


def score(ticks: Mapping[str, bool]) -> int:
    return sum(ticks.get(name, False) for name in sheet().statements)


def band(points: int) -> Band:
    """What a score means, and what to do next."""
    return next(one for one in sheet().bands if points >= one.minimum)


def weak_concepts(rows: list[Claim]) -> list[str]:
    """The concepts to review: those behind statements that are not ticked, or ticked without good answers."""
    names = [template(card).concept for claim in rows if not claim.ticked or not claim.backed for card in claim.statement.cards]
    return list(dict.fromkeys(names))
