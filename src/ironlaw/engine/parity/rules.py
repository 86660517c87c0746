"""Decision rules over several groups, each the one of its kind that pays most: who is accepted, and what the rule leaves of the profit.

A group's positives are those who pay back. An accepted one earns 1 − b and a default costs b, where b is the repayment at which a loan
breaks even: so a person is worth accepting from that probability on. Profits are per head of all groups together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.parity.curves import Group, Point, table_at
from ironlaw.engine.parity.hull_points import by_opportunity, by_precision, by_selection, closing_in, lowest, share_flagged, summit
from ironlaw.engine.parity.rates import Table
from ironlaw.errors import BadValue, unknown

NONE, ONE, SELECTION, OPPORTUNITY, ODDS, PRECISION = (
    "none",
    "one_threshold",
    "equal_selection",
    "equal_opportunity",
    "equal_odds",
    "equal_ppv",
)
RULES = {
    NONE: "each group at its own best", ONE: "one threshold for all", SELECTION: "equal selection rates",
    OPPORTUNITY: "equal opportunity", ODDS: "equal odds", PRECISION: "equal precision",
}  # fmt: skip


@dataclass(frozen=True)
class Decision:
    """For each group a point of its ROC square (on its hull: thresholds and coin flips between two), and the table it makes."""

    rule: str
    points: tuple[Point, ...]
    tables: tuple[Table, ...]
    profit: float

    def gap(self, rate: str) -> float:
        """The largest difference of a rate between two groups."""
        values = [getattr(table, rate) for table in self.tables]
        return max(values) - min(values) if not any(map(math.isnan, values)) else math.nan


def profit(tables: Sequence[Table], breakeven: float) -> float:
    people = sum(table.people for table in tables)
    return math.fsum((1.0 - breakeven) * table.tp - breakeven * table.fp for table in tables) / people


def best(groups: Sequence[Group], rule: str, breakeven: float, tolerance: float = 0.0) -> Decision:
    """The decision of that rule that pays most. `tolerance`: by how much the rate that a rule makes equal may differ between groups, where
    that is one rate along the hull: selection and opportunity."""
    if rule not in RULES:
        raise unknown("rule", rule, RULES)
    if not 0.0 < breakeven < 1.0:
        raise BadValue(f"break-even is {breakeven!r}; give a share of repayment between 0 and 1")
    if not groups:
        raise BadValue("no groups; give at least one")
    if len({group.name for group in groups}) < len(groups):
        raise BadValue(f"groups {', '.join(group.name for group in groups)}; give each a name of its own")
    if tolerance and rule not in (SELECTION, OPPORTUNITY):
        raise BadValue(f"rule {rule!r} has no tolerance; give one for {SELECTION} or {OPPORTUNITY}")
    if not 0.0 <= tolerance <= 1.0:
        raise BadValue(f"tolerance is {tolerance!r}; give a share from 0 to 1")
    return _best(tuple(groups), rule, breakeven, tolerance)


@lru_cache(maxsize=1024)
def _best(groups: tuple[Group, ...], rule: str, breakeven: float, tolerance: float) -> Decision:
    if rule == ONE:
        return _one_threshold(groups, breakeven)
    if rule in (SELECTION, OPPORTUNITY):
        points = _window(groups, rule, breakeven, tolerance)
    elif rule == ODDS:
        points = [max(lowest(groups), key=lambda point: _sum_worth(groups, [point] * len(groups), breakeven))] * len(groups)
    elif rule == PRECISION:
        points = _equal_precision(groups, breakeven)
    else:
        points = [_most(group, breakeven) for group in groups]
    tables = tuple(table_at(group, point) for group, point in zip(groups, points, strict=True))
    return Decision(rule, tuple(points), tables, profit(tables, breakeven))


def _worth(group: Group, point: Point, breakeven: float) -> float:
    """The profit of a group's decision, per person in the group."""
    return (1.0 - breakeven) * group.base * point[1] - breakeven * (1.0 - group.base) * point[0]


def _sum_worth(groups: Sequence[Group], points: Sequence[Point], breakeven: float) -> float:
    return sum(group.total * _worth(group, point, breakeven) for group, point in zip(groups, points, strict=True))


def _most(group: Group, breakeven: float) -> Point:
    """The corner of the hull that pays most."""
    return max(group.hull, key=lambda point: _worth(group, point, breakeven))


def _window(groups: Sequence[Group], rule: str, breakeven: float, tolerance: float) -> list[Point]:
    """Each group as near to its own best as the window above one target allows: its profit falls on both sides of that."""
    paths = [(by_selection if rule == SELECTION else by_opportunity)(group) for group in groups]
    tops = [_most(group, breakeven) for group in groups]
    own = [share_flagged(group, top) if rule == SELECTION else top[1] for group, top in zip(groups, tops, strict=True)]

    def near(target: float) -> list[Point]:
        return [path.at(min(max(mine, target), target + tolerance, 1.0)) for path, mine in zip(paths, own, strict=True)]

    return near(summit(lambda target: _sum_worth(groups, near(target), breakeven)))


def _equal_precision(groups: Sequence[Group], breakeven: float) -> list[Point]:
    fans = [by_precision(group) for group in groups]

    def points(target: float) -> list[Point]:
        return [point for fan in fans if (point := fan.at(target))]

    def worth(target: float) -> float | None:
        at = points(target)
        return _sum_worth(groups, at, breakeven) if len(at) == len(groups) else None

    target = closing_in(worth)
    if target is None:
        raise BadValue(f"no decision of the rule {RULES[PRECISION]!r} exists for these groups; choose another rule")
    return points(target)


def _one_threshold(groups: tuple[Group, ...], breakeven: float) -> Decision:
    _, _, score = max(_flags_by_score(groups), key=lambda flags: (1.0 - breakeven) * flags[0] - breakeven * flags[1])
    tables = tuple(group.at(score) for group in groups)
    return Decision(ONE, tuple((table.fpr, table.tpr) for table in tables), tables, profit(tables, breakeven))


@lru_cache(maxsize=16)
def _flags_by_score(groups: tuple[Group, ...]) -> list[tuple[float, float, float]]:
    """Right and wrong flags of all groups together, for every threshold."""
    scores = sorted({score for group in groups for score in group.scores})
    tables = {score: [group.at(score) for group in groups] for score in [*scores, math.inf]}
    return [(sum(table.tp for table in row), sum(table.fp for table in row), score) for score, row in tables.items()]
