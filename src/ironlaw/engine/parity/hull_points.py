"""Points on the hulls of groups, looked up by selection rate, by hit rate or by precision; and the lowest of several hulls."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.parity.curves import Group, Point, height

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Path:
    """The corners of a hull, and a measure that never falls from one to the next."""

    points: tuple[Point, ...]
    marks: tuple[float, ...]

    def at(self, value: float) -> Point:
        """The first point at which the measure reaches a value; the last one where it never does."""
        i = bisect_left(self.marks, value)
        if i in (0, len(self.marks)):
            return self.points[0 if i == 0 else -1]
        return between(self.points[i - 1], self.points[i], (value - self.marks[i - 1]) / (self.marks[i] - self.marks[i - 1]))


def between(a: Point, b: Point, share: float) -> Point:
    """What a coin that falls on b with this share makes of two points."""
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def share_flagged(group: Group, point: Point) -> float:
    return group.base * point[1] + (1.0 - group.base) * point[0]


@lru_cache(maxsize=64)
def by_selection(group: Group) -> Path:
    return Path(group.hull, tuple(share_flagged(group, point) for point in group.hull))


@lru_cache(maxsize=64)
def by_opportunity(group: Group) -> Path:
    return Path(group.hull, tuple(point[1] for point in group.hull))


@dataclass(frozen=True)
class Fan:
    """The rays from the corner of the square to the further corners of a hull: each less steep than the one before."""

    base: float
    points: tuple[Point, ...]
    falls: tuple[float, ...]  # the slopes, negative, so that they rise

    def at(self, ppv: float) -> Point | None:
        """Where the ray of this PPV leaves the hull; None where no decision of the group has it, or only one below chance."""
        if ppv <= 0.0:
            return None
        slope = math.inf if ppv >= 1.0 else (1.0 - self.base) / self.base * ppv / (1.0 - ppv)
        i = bisect_right(self.falls, -slope)
        if slope < 1.0 or i == 0:
            return None
        a = self.points[i - 1]
        if math.isinf(slope) or i == len(self.points):
            return a
        b = self.points[i]
        start, end = a[1] - slope * a[0], b[1] - slope * b[0]
        return between(a, b, start / (start - end))


@lru_cache(maxsize=64)
def by_precision(group: Group) -> Fan:
    further = group.hull[1:]
    return Fan(group.base, further, tuple(-tpr / fpr if fpr else -math.inf for fpr, tpr in further))


@lru_cache(maxsize=16)
def lowest(groups: tuple[Group, ...]) -> tuple[Point, ...]:
    """The corners of what lies under every hull: those of the hulls, and where two of them cross."""
    places = sorted({fpr for group in groups for fpr, _ in group.hull})
    heights = [[height(group.hull, fpr) for group in groups] for fpr in places]
    corners = dict(zip(places, map(min, heights), strict=True))
    for (x, at_x), (y, at_y) in itertools.pairwise(zip(places, heights, strict=True)):
        for i, j in itertools.combinations(range(len(groups)), 2):
            before, after = at_x[i] - at_x[j], at_y[i] - at_y[j]
            if before * after < 0:
                share = before / (before - after)
                corners[x + share * (y - x)] = min(a + share * (b - a) for a, b in zip(at_x, at_y, strict=True))
    return tuple(sorted(corners.items()))


def summit(worth: Callable[[float], float]) -> float:
    """Where a function with one summit between 0 and 1 is highest, by the golden section."""
    low, high = 0.0, 1.0
    left, right = 1.0 - GOLDEN, GOLDEN
    at_left, at_right = worth(left), worth(right)
    for _ in range(48):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = worth(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = worth(left)
    return (low + high) / 2


def closing_in(worth: Callable[[float], float | None], steps: int = 40, rounds: int = 6) -> float | None:
    """Where a function is highest between 0 and 1, by a grid that closes in on its best; None where it has no value anywhere."""
    low, high = 0.0, 1.0
    best: tuple[float, float] | None = None
    for _ in range(rounds):
        step = (high - low) / steps
        values: Sequence[tuple[float, float]] = [
            (value, place) for place in (low + step * i for i in range(steps + 1)) if (value := worth(place)) is not None
        ]
        best = max([*values, *([best] if best else [])], default=None)
        if best is None:
            return None
        low, high = max(0.0, best[1] - 2 * step), min(1.0, best[1] + 2 * step)
    return best[1] if best else None
