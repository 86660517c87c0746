"""The data of the lab: published groups, and two made-up ones; how each is spoken of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw.engine.parity.chance import Gap, gap
from ironlaw.engine.parity.curves import Group, normals
from ironlaw.engine.parity.rates import Table
from ironlaw.kit.cards import MINUS, text_card
from ironlaw.pictures.people_picture import Kinds
from ironlaw.registry.publications import published
from ironlaw.registry.scored_groups import COMPAS, CREDIT, groups

MADE_UP = "made_up"
PEOPLE = 10_000.0  # in each made-up group


@dataclass(frozen=True)
class Speech:
    """How the decisions about a data set are spoken of."""

    flagged: str
    true: str
    other: str
    kinds: Kinds

    @property
    def rates(self) -> dict[str, str]:
        refused = {"fpr": "False positives", "fnr": "Misses", "ppv": "Precision", "npv": f"Right when not {self.flagged}"}
        return {**refused, "selected": self.flagged.capitalize(), "accuracy": "Accuracy"}


SPEECH = {
    COMPAS: Speech(
        "flagged", "people arrested again", "people not arrested again",
        Kinds(fn="missed", tp="flagged, arrested again", fp="flagged, not arrested", tn="left alone"),
    ),
    CREDIT: Speech(
        "accepted", "applicants who would repay", "applicants who would default",
        Kinds(fn="refused, would repay", tp="accepted, repays", fp="accepted, defaults", tn="refused, would default"),
    ),
    MADE_UP: Speech(
        "flagged", "people who are true cases", "people who are not true cases",
        Kinds(fn="missed", tp="flagged, true", fp="flagged, not true", tn="left alone"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Cut:
    """A threshold's dial: from all flagged to nobody."""

    low: float
    high: float
    step: float
    start: float


CUTS = {COMPAS: Cut(1, 11, 1, 5), CREDIT: Cut(0, 101, 0.5, 50), MADE_UP: Cut(-3, 6, 0.1, 1)}


@lru_cache(maxsize=256)
def made_up(base_a: float, base_b: float, separation: float) -> tuple[Group, Group]:
    pair = (normals("A", base_a, separation), normals("B", base_b, separation))
    one, other = (
        Group(group.name, group.scores, tuple(PEOPLE * n for n in group.people), tuple(PEOPLE * n for n in group.positives))
        for group in pair
    )
    return one, other


def people(name: str) -> str:
    """The people of a group, whose name may be a mere letter."""
    return f"people in {name}" if len(name) == 1 else f"{name} people"


def names(slug: str) -> list[str]:
    return [group.name for group in groups(slug)]


def source(slug: str) -> str:
    """The source, as it goes on after "the data are"."""
    return "made up" if slug == MADE_UP else f"from {published('compas' if slug == COMPAS else 'credit_scores').citation}"


def hits(table: Table, rate: str) -> tuple[float, float]:
    """How many of how many: what a rate is counted from."""
    return {
        "fpr": (table.fp, table.fp + table.tn),
        "fnr": (table.fn, table.tp + table.fn),
        "tpr": (table.tp, table.tp + table.fn),
        "ppv": (table.tp, table.tp + table.fp),
        "npv": (table.tn, table.fn + table.tn),
        "selected": (table.tp + table.fp, table.people),
        "accuracy": (table.tp + table.tn, table.people),
    }[rate]


def gap_of(one: Table, other: Table, rate: str) -> Gap | None:
    """The difference of a rate with its interval; None where nobody is there to be counted."""
    (hits_a, of_a), (hits_b, of_b) = hits(one, rate), hits(other, rate)
    return gap(min(hits_a, of_a), of_a, min(hits_b, of_b), of_b) if of_a >= 1 and of_b >= 1 else None


def points(share: float) -> str:
    """A difference of shares in points, to a tenth: people can't be counted closer."""
    return f"{round(100 * share, 1) + 0.0:.1f}".replace("-", MINUS)


def as_points(label: str, gap: Gap | None, **more: str) -> dict[str, Any]:
    """A card that shows a gap."""
    if gap is None:
        return text_card(label, "–", note="nobody to count")
    return text_card(label, points(gap.value), "points", **more)
