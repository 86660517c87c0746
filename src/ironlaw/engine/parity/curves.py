"""Score curves: what every threshold of a score makes of a group, the area under it, and its upper hull, which coin flips can reach."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.parity.rates import Table, of_rates
from ironlaw.errors import BadValue

Point = tuple[float, float]  # FPR, TPR


@dataclass(frozen=True)
class Group:
    """A group by score, the lowest first: `people` with that score (counts or shares), and how many of them are true."""

    name: str
    scores: tuple[float, ...]
    people: tuple[float, ...]
    positives: tuple[float, ...]

    def __post_init__(self) -> None:
        if not (len(self.scores) == len(self.people) == len(self.positives) > 0):
            sizes = f"{len(self.scores)} scores, {len(self.people)} counts and {len(self.positives)} positives"
            raise BadValue(f"group {self.name!r} has {sizes}; give one of each for every score")
        if any(not a < b for a, b in itertools.pairwise(self.scores)):
            raise BadValue(f"group {self.name!r}: scores must rise; sort them")
        if any(not 0 <= positive <= people * (1 + 1e-12) for positive, people in zip(self.positives, self.people, strict=True)):
            raise BadValue(f"group {self.name!r}: more positives than people at a score, or fewer than none; check the counts")
        if not 0 < sum(self.positives) < sum(self.people):
            raise BadValue(f"group {self.name!r} needs people of both kinds, because every rate is a share of one of them")

    @cached_property
    def base(self) -> float:
        return math.fsum(self.positives) / math.fsum(self.people)

    @cached_property
    def total(self) -> float:
        return math.fsum(self.people)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Entry i: everybody from score i upwards is flagged. The last one flags nobody."""
        true, other = math.fsum(self.positives), self.total - math.fsum(self.positives)
        tables, tp, fp = [Table(0.0, 0.0, true, other)], 0.0, 0.0
        for people, positive in zip(reversed(self.people), reversed(self.positives), strict=True):
            tp, fp = tp + positive, fp + max(0.0, people - positive)
            tables.append(Table(tp, fp, max(0.0, true - tp), max(0.0, other - fp)))
        return tuple(reversed(tables))

    def at(self, threshold: float) -> Table:
        """Everybody with at least this score is flagged."""
        return self.tables[next((i for i, score in enumerate(self.scores) if score >= threshold), len(self.scores))]

    @cached_property
    def roc(self) -> tuple[Point, ...]:
        """The curve from the corner where nobody is flagged to the one where all are."""
        return tuple((table.fpr, table.tpr) for table in reversed(self.tables))

    @cached_property
    def area(self) -> float:
        """The area under the curve: how often a true one scores above another, ties by half."""
        return auc(self.roc)

    @cached_property
    def hull(self) -> tuple[Point, ...]:
        return hull(self.roc)


def auc(points: Sequence[Point]) -> float:
    return math.fsum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))


def hull(points: Sequence[Point]) -> tuple[Point, ...]:
    """The upper hull of a curve and its two corners: what thresholds and coin flips between them can reach."""
    kept: list[Point] = []
    for point in sorted({(0.0, 0.0), (1.0, 1.0), *points}):
        while len(kept) >= 2 and _turn(kept[-2], kept[-1], point) >= 0:
            kept.pop()
        kept.append(point)
    return tuple(kept)


def _turn(a: Point, b: Point, c: Point) -> float:
    """Above 0 where the way from a over b to c turns left, 0 where it is straight."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def height(points: Sequence[Point], fpr: float) -> float:
    """The TPR of a hull at this FPR, between its corners in a straight line."""
    for a, b in itertools.pairwise(points):
        if a[0] <= fpr <= b[0]:
            return max(a[1], b[1]) if b[0] == a[0] else a[1] + (fpr - a[0]) / (b[0] - a[0]) * (b[1] - a[1])
    raise BadValue(f"FPR is {fpr!r}; give one from 0 to 1")


def within(points: Sequence[Point], point: Point, slack: float = 1e-9) -> bool:
    """Whether a decision lies on or under a hull, and not below chance."""
    return point[0] - slack <= point[1] <= height(points, min(1.0, max(0.0, point[0]))) + slack


def normals(name: str, base: float, separation: float, centre: float = 0.0, steps: int = 240) -> Group:
    """A made-up group: scores of the true are N(centre + separation, 1), of the others N(centre, 1), cut into steps."""
    if not 0.0 < base < 1.0 or not 0.0 <= separation <= 20.0:
        raise BadValue(f"the base rate is {base!r} and the separation {separation!r}; give one between 0 and 1, and one from 0 to 20")
    low, high = centre - 5.0, centre + separation + 5.0
    edges = [low + (high - low) * i / steps for i in range(steps + 1)]
    true = [base * share for share in _shares(edges, centre + separation)]
    other = [(1.0 - base) * share for share in _shares(edges, centre)]
    return Group(name, tuple(edges[:-1]), tuple(a + b for a, b in zip(true, other, strict=True)), tuple(true))


def _shares(edges: Sequence[float], mean: float) -> list[float]:
    """The shares of a normal of variance 1 between the edges; what lies beyond goes to the first and the last."""
    below = [0.0, *(0.5 * math.erfc((mean - edge) / math.sqrt(2.0)) for edge in edges[1:-1]), 1.0]
    return [b - a for a, b in itertools.pairwise(below)]


def table_at(group: Group, point: Point) -> Table:
    """What a point of the ROC square makes of a group."""
    return of_rates(group.base, point[0], point[1], group.total)
