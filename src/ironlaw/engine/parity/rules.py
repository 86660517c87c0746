"""Decision rules over several groups, each the one of its kind that pays most: who is accepted, and what the rule leaves of the profit.

A group's positives are those who pay back. An accepted one earns 1 − b and a default costs b, where b is the repayment at which a loan
breaks even: so a person is worth accepting from that probability on. Profits are per head of all groups together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.parity.curves import Group, Point, height, table_at
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
    NONE: "largest profit, each group by itself", ONE: "one threshold for all", SELECTION: "equal selection rates",
    OPPORTUNITY: "equal opportunity", ODDS: "equal odds", PRECISION: "equal precision",
}  # fmt: skip
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
GRID = 40  # targets that a rule tries, six times closer and closer


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


@lru_cache(maxsize=256)
def _best(groups: tuple[Group, ...], rule: str, breakeven: float, tolerance: float) -> Decision:
    if rule == NONE:
        return _decision(rule, groups, [_most(group, breakeven) for group in groups], breakeven)
    if rule == ONE:
        return _one_threshold(groups, breakeven)
    if rule == ODDS:
        return _equal_odds(groups, breakeven)
    if rule == PRECISION:
        return _equal_precision(groups, breakeven)
    measure = _selected if rule == SELECTION else _found
    own = {group.name: measure(group, _most(group, breakeven)) for group in groups}

    def near(group: Group, target: float) -> Point:
        """Each group as near to its own best as the window above the target allows: its profit falls on both sides of that."""
        return _cross(group, measure, min(max(own[group.name], target), target + tolerance))

    return _climb(rule, groups, breakeven, near)


def _decision(rule: str, groups: Sequence[Group], points: Sequence[Point], breakeven: float) -> Decision:
    tables = tuple(table_at(group, point) for group, point in zip(groups, points, strict=True))
    return Decision(rule, tuple(points), tables, profit(tables, breakeven))


def _worth(group: Group, point: Point, breakeven: float) -> float:
    return (1.0 - breakeven) * group.base * point[1] - breakeven * (1.0 - group.base) * point[0]


def _most(group: Group, breakeven: float) -> Point:
    """The corner of the hull that pays most."""
    return max(group.hull, key=lambda point: _worth(group, point, breakeven))


def _one_threshold(groups: Sequence[Group], breakeven: float) -> Decision:
    scores = sorted({score for group in groups for score in group.scores})
    decisions = []
    for score in [*scores, math.inf]:
        tables = tuple(group.at(score) for group in groups)
        points = tuple((table.fpr, table.tpr) for table in tables)
        decisions.append(Decision(ONE, points, tables, profit(tables, breakeven)))
    return max(decisions, key=lambda each: each.profit)


def _equal_odds(groups: Sequence[Group], breakeven: float) -> Decision:
    """One point for all: on or under every group's hull, so a corner of the lowest of them, which may be where two hulls cross."""
    corners = sorted({fpr for group in groups for fpr, _ in group.hull})
    heights = [[height(group.hull, fpr) for fpr in corners] for group in groups]
    places = sorted({*corners, *_crossings(corners, heights)})
    points = [(fpr, min(height(group.hull, fpr) for group in groups)) for fpr in places]
    return max((_decision(ODDS, groups, [point] * len(groups), breakeven) for point in points), key=lambda each: each.profit)


def _crossings(places: Sequence[float], heights: Sequence[Sequence[float]]) -> Iterator[float]:
    """Where two of the lines through their heights at the same places cross between two of these."""
    for one, other in itertools.combinations(heights, 2):
        apart = [a - b for a, b in zip(one, other, strict=True)]
        for (left, before), (right, after) in itertools.pairwise(zip(places, apart, strict=True)):
            if before * after < 0.0:
                yield left + (right - left) * before / (before - after)


def _climb(rule: str, groups: Sequence[Group], breakeven: float, reach: Callable[[Group, float], Point]) -> Decision:
    """The best target by the golden section: along concave hulls the profit has one summit."""

    def at(target: float) -> Decision:
        return _decision(rule, groups, [reach(group, target) for group in groups], breakeven)

    low, high = 0.0, 1.0
    for _ in range(48):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (left, high) if at(left).profit < at(right).profit else (low, right)
    return at((low + high) / 2)


def _equal_precision(groups: Sequence[Group], breakeven: float) -> Decision:
    """The PPV that pays most: a grid, then closer and closer around its best."""
    low, high = 0.0, 1.0
    found: list[tuple[float, float, Decision]] = []
    for _ in range(6):
        step = (high - low) / GRID
        for target in (low + step * i for i in range(GRID + 1)):
            points = [point for group in groups if (point := _at_precision(group, target))]
            if len(points) == len(groups):
                decision = _decision(PRECISION, groups, points, breakeven)
                found.append((decision.profit, target, decision))
        if not found:
            raise BadValue(f"no decision of the rule {RULES[PRECISION]!r} exists for these groups; choose another rule")
        _, best_target, decision = max(found, key=lambda each: each[0])
        low, high = max(0.0, best_target - 2 * step), min(1.0, best_target + 2 * step)
    return decision


def _selected(group: Group, point: Point) -> float:
    return group.base * point[1] + (1.0 - group.base) * point[0]


def _found(group: Group, point: Point) -> float:
    return point[1]


def _at_precision(group: Group, ppv: float) -> Point | None:
    """Where the ray of this PPV leaves the hull; None where no decision of the group has it."""
    if ppv >= 1.0:
        top = height(group.hull, 0.0)
        return (0.0, top) if top > 0.0 else None
    slope = (1.0 - group.base) / group.base * ppv / (1.0 - ppv)
    if slope < 1.0:
        return None  # below chance
    crossing = (0.0, 0.0)
    for a, b in itertools.pairwise(group.hull):
        start, end = a[1] - slope * a[0], b[1] - slope * b[0]
        if start >= 0.0 >= end:
            crossing = _between(a, b, start / (start - end) if start > end else 1.0)
    return crossing if crossing[1] > 0.0 else None


def _cross(group: Group, measure: Callable[[Group, Point], float], value: float) -> Point:
    """The first point along a group's hull at which a rising measure reaches a value; the last corner where rounding keeps it below."""
    for a, b in itertools.pairwise(group.hull):
        start, end = measure(group, a), measure(group, b)
        if start <= value <= end and end > start:
            return _between(a, b, (value - start) / (end - start))
    return group.hull[-1]


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
