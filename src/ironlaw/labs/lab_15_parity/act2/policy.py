"""A rule for four groups of applicants: whom it accepts, what it leaves of the profit, and which limit it hits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.parity.chance import Gap
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.forced import least_gap
from ironlaw.engine.parity.rates import Table
from ironlaw.engine.parity.rules import NONE, OPPORTUNITY, RULES, SELECTION, Decision, best
from ironlaw.labs.lab_15_parity.data import gap_of
from ironlaw.registry.scored_groups import CREDIT, groups
from ironlaw.systems.fields import among, figure, hundredths

BY_GROUP, ALL_ALIKE = "by_group", "alike"
LAWS = {BY_GROUP: "may differ by group", ALL_ALIKE: "one for all, by law"}
WHY = {
    "able": "the able have equal chances",
    "equal": "groups get equal shares",
    "errors": "errors fall on all alike",
    "flags": "a yes means the same for all",
    "same": "same score, same answer",
    "profit": "the bank lives on it",
}
FIFTHS = 0.8
WINDOWED = (SELECTION, OPPORTUNITY)  # the rules that a tolerance is defined for
THREE = ("fpr", "fnr", "ppv")


@dataclass(frozen=True)
class Policy:
    """Where the dials of Act II stand, in shares. `window`: how far the rule's own rate may differ. `within`: how near all three rates are
    wanted. `floor`: of each group, accepted at least. `keep`: of the largest profit."""

    law: str = among(LAWS, BY_GROUP, "Thresholds")
    rule: str = among(RULES, OPPORTUNITY, "Rule", dial="select")
    breakeven: float = figure(82, "Repayment at which a loan breaks even", "%", low=50, high=95, dial="span", means=hundredths)
    window: float = figure(0, "The rule's rate may differ by", "points", low=0, high=40, dial="span", means=hundredths)
    within: float = figure(20, "All three rates within", "points", low=1, high=40, dial="span", means=hundredths)
    floor: float = figure(10, "Accept of each group at least", "%", low=1, high=50, dial="span", means=hundredths)
    keep: float = figure(75, "Keep of the largest profit at least", "%", low=50, high=100, dial="span", means=hundredths)
    why: str = among(WHY, "able", "Because", dial="select")

    @property
    def groups(self) -> tuple[Group, ...]:
        return groups(CREDIT)

    @cached_property
    def decision(self) -> Decision:
        return best(self.groups, self.rule, self.breakeven, self.window if self.rule in WINDOWED else 0.0)

    @cached_property
    def profit(self) -> float:
        """Of the largest."""
        top = best(self.groups, NONE, self.breakeven).profit
        return self.decision.profit / top if top > 0 else math.nan

    @property
    def ends(self) -> tuple[int, int]:
        """The groups with the highest and the lowest base rate."""
        order = sorted(range(len(self.groups)), key=lambda i: self.groups[i].base)
        return order[-1], order[0]

    @property
    def pair(self) -> tuple[Table, Table]:
        high, low = self.ends
        return self.decision.tables[high], self.decision.tables[low]

    @cached_property
    def least(self) -> float:
        """The nearest that all three rates of these two groups can come, with so many accepted."""
        high, low = self.ends
        return least_gap(self.groups[high], self.groups[low], self.floor)

    @property
    def selection_ratio(self) -> float:
        shares = [table.selected for table in self.decision.tables]
        return min(shares) / max(shares) if max(shares) else 1.0

    def gap(self, rate: str) -> Gap | None:
        return gap_of(*self.pair, rate)

    @property
    def gaps(self) -> dict[str, Gap]:
        """Of the three rates, where somebody is there to be counted."""
        return {rate: gap for rate in THREE if (gap := self.gap(rate))}

    @property
    def too_far(self) -> list[str]:
        """Rates that surely differ by more than was asked."""
        return [rate for rate, gap in self.gaps.items() if min(abs(gap.low), abs(gap.high)) > self.within and not gap.may_be_chance]

    @property
    def unsure(self) -> list[str]:
        """Rates of which nobody can say whether they do."""
        ends = {rate: sorted((abs(gap.low), abs(gap.high))) for rate, gap in self.gaps.items()}
        return [rate for rate, (near, far) in ends.items() if far > self.within and (near <= self.within or self.gaps[rate].may_be_chance)]

    @property
    def people_needed(self) -> float:
        """Times as many people, for the unsure gaps to be told from what was asked: an interval halves with four times as many."""
        gaps = [self.gaps[rate] for rate in self.unsure]
        return max((gap.width / 2 / max(1e-4, abs(abs(gap.value) - self.within))) ** 2 for gap in gaps) if gaps else 1.0
