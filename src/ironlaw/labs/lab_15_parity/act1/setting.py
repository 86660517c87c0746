"""Where the dials of Act I stand: two groups, their thresholds, and a precision to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rates import Table
from ironlaw.labs.lab_15_parity.data import CUTS, MADE_UP, made_up, names
from ironlaw.registry.scored_groups import COMPAS, CREDIT, groups
from ironlaw.systems.fields import among, figure, one_of

RATES, ONE, EACH = "rates", "one", "each"  # what both groups share: two rates, a threshold, nothing
FLOOR = 0.05  # of a group: a precision that only fewer people would have is no use
FURTHEST, STEP = 6.0, 0.1  # of made-up scores, how far apart
SIDES = {"fpr": "false positives, as the reporters did", "ppv": "precision, as the vendor did", "fnr": "misses, as nobody did"}


def _group(default: str, label: str) -> Any:
    return one_of(lambda: names(CREDIT), default, label, dial="select")


def _threshold(slug: str, label: str) -> Any:
    cut = CUTS[slug]
    return figure(cut.start, label, low=cut.low, high=cut.high, dial="span", step=cut.step)


@dataclass(frozen=True)
class Setting:
    a: str = _group("White", "First group")
    b: str = _group("Black", "Second group")
    linked: str = among({RATES: "precision and misses", ONE: "the threshold", EACH: "neither"}, RATES, "Equal in both groups")
    cut_compas_a: float = _threshold(COMPAS, "Threshold")
    cut_compas_b: float = _threshold(COMPAS, "Threshold of the second group")
    cut_credit_a: float = _threshold(CREDIT, "Threshold")
    cut_credit_b: float = _threshold(CREDIT, "Threshold of the second group")
    cut_made_up_a: float = _threshold(MADE_UP, "Threshold")
    cut_made_up_b: float = _threshold(MADE_UP, "Threshold of the second group")
    base_a: float = figure(30, "Base rate of A", "%", low=5, high=95, dial="span")
    base_b: float = figure(10, "Base rate of B", "%", low=5, high=95, dial="span")
    separation: float = figure(3, "How far apart the scores lie", low=0, high=FURTHEST, dial="span", step=STEP)
    ppv: float = figure(80, "Precision", "%", low=5, high=100, dial="span")
    fnr: float = figure(30, "Misses, of the true cases", "%", low=0, high=95, dial="span")
    side: str = among(SIDES, "fpr", "Count the people behind", dial="select")
    slug: str = COMPAS  # of the context

    @property
    def held(self) -> float:
        return self.ppv / 100

    @property
    def pair(self) -> tuple[Group, Group]:
        """The two groups that are compared."""
        if self.slug == MADE_UP:
            return made_up(self.base_a / 100, self.base_b / 100, self.separation)
        known = {group.name: group for group in groups(self.slug)}
        if self.slug == CREDIT:
            return known[self.a], known[self.b]
        one, other = known.values()
        return one, other

    @property
    def tables(self) -> tuple[Table, Table]:
        one, other = self.pair
        if self.linked == RATES:
            return self._with_equal_rates(one), self._with_equal_rates(other)
        first = getattr(self, f"cut_{self.slug}_a")
        second = getattr(self, f"cut_{self.slug}_b") if self.linked == EACH else first
        return one.at(first), other.at(second)

    def _with_equal_rates(self, group: Group) -> Table:
        """A decision of this precision that misses this share, whether or not a threshold has it."""
        true, missed = group.base * group.total, self.fnr / 100
        found = true * (1 - missed)
        wrong = min(group.total - true, found * (1 - self.held) / self.held)
        return Table(found, wrong, true - found, group.total - true - wrong)

    @property
    def short(self) -> list[Group]:
        """Groups in which no threshold has the precision."""
        return [group for group in self.pair if reach(group) < self.held - 1e-4]


def reach(group: Group) -> float:
    """The best precision that a threshold has which still flags a twentieth of the group."""
    return max(table.ppv for table in group.tables if table.selected >= FLOOR)
