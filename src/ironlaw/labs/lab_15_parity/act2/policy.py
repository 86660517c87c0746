"""A rule for four groups of applicants: whom it accepts, what it leaves of the profit, and which limit it hits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.parity.chance import Gap
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rules import NONE, OPPORTUNITY, RULES, SELECTION, Decision, best
from ironlaw.labs.lab_15_parity.data import gap_of
from ironlaw.registry.scored_groups import CREDIT, groups
from ironlaw.systems.fields import among, figure, hundredths

BY_GROUP, ALL_ALIKE = "by_group", "alike"
LAWS = {BY_GROUP: "may differ by group", ALL_ALIKE: "one for all, by law"}
WHY = {
    "able": "equal chances for all who'd repay",
    "equal": "every group gets an equal share",
    "errors": "errors hit every group alike",
    "flags": "a yes means the same in every group",
    "same": "same score, same answer",
    "profit": "the bank lives on its profit",
}
FIFTHS = 0.8  # of the highest rate of selection: a rule of thumb of US employment law
WINDOWED = (SELECTION, OPPORTUNITY)  # the rules that a tolerance is defined for


@dataclass(frozen=True)
class Policy:
    """Where the dials of Act II stand, in shares. `window`: how far the rule's own rate may differ. `within`: how far the groups'
    applicants who would repay may be apart. `floor`: of each group, accepted at least. `keep`: of the maximum profit."""

    law: str = among(LAWS, BY_GROUP, "Thresholds")
    rule: str = among(RULES, OPPORTUNITY, "Rule", dial="select")
    breakeven: float = figure(82, "Repayment at which a loan breaks even", "%", low=50, high=95, dial="span", means=hundredths)
    window: float = figure(0, "Ease the rule by", "points", low=0, high=40, dial="span", means=hundredths)
    within: float = figure(10, "Largest gap allowed", "points", low=1, high=40, dial="span", means=hundredths)
    floor: float = figure(10, "Accepted of every group, at least", "%", low=1, high=50, dial="span", means=hundredths)
    keep: float = figure(95, "Profit to keep, at least", "%", low=50, high=100, dial="span", means=hundredths)
    why: str = among(WHY, "able", "My reason", dial="select")

    @property
    def groups(self) -> tuple[Group, ...]:
        return groups(CREDIT)

    @cached_property
    def decision(self) -> Decision:
        return best(self.groups, self.rule, self.breakeven, self.window if self.rule in WINDOWED else 0.0)

    @cached_property
    def profit(self) -> float:
        """The profit as a share of the largest."""
        top = best(self.groups, NONE, self.breakeven).profit
        return self.decision.profit / top if top > 0 else math.nan

    @property
    def ends(self) -> tuple[int, int]:
        """The groups with the highest and the lowest base rate."""
        order = sorted(range(len(self.groups)), key=lambda i: self.groups[i].base)
        return order[-1], order[0]

    @property
    def selection_ratio(self) -> float:
        shares = [table.selected for table in self.decision.tables]
        return min(shares) / max(shares) if max(shares) else 1.0

    @property
    def least_accepted(self) -> int:
        """The group of which the smallest share is accepted."""
        return min(range(len(self.groups)), key=lambda i: self.decision.tables[i].selected)

    def gap(self, rate: str) -> Gap | None:
        """The group of the highest base rate less that of the lowest."""
        high, low = self.ends
        return gap_of(self.decision.tables[high], self.decision.tables[low], rate)

    @property
    def luckiest(self) -> tuple[int, int]:
        """The groups whose applicants who would repay are accepted most often, and least often."""
        order = sorted(range(len(self.groups)), key=lambda i: self.decision.tables[i].tpr)
        return order[-1], order[0]

    @cached_property
    def chances(self) -> Gap:
        """The share of applicants who would repay that one group accepts, less that of the other."""
        most, least = self.luckiest
        return gap_of(self.decision.tables[most], self.decision.tables[least], "tpr") or Gap(0.0, 0.0, 0.0)

    @property
    def is_too_far(self) -> bool:
        """Surely further apart than was asked."""
        return self.chances.low > self.within

    @property
    def is_unsure(self) -> bool:
        """Nobody can say whether it is."""
        return self.chances.low <= self.within < self.chances.high

    @property
    def people_needed(self) -> float:
        """Times as many people, for the gap to be told from what was asked: an interval halves with four times as many."""
        return (self.chances.width / 2 / max(1e-4, abs(self.chances.value - self.within))) ** 2
