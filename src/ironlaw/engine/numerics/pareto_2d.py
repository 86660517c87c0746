"""What is worth having: a point is dominated when another is no worse in both figures and better in one. Less is better in both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Point:
    """A configuration: what it costs (bytes, seconds) and what it harms (perplexity, divergence, share of errors)."""

    name: str
    cost: float
    harm: float

    def __post_init__(self) -> None:
        if math.isnan(self.cost) or math.isnan(self.harm):
            raise BadValue(f"{self.name} costs {self.cost} and harms {self.harm}; leave out what was not measured")

    def dominates(self, other: Point) -> bool:
        no_worse = self.cost <= other.cost and self.harm <= other.harm
        return no_worse and (self.cost < other.cost or self.harm < other.harm)


def frontier(points: Iterable[Point]) -> tuple[Point, ...]:
    """The points that nothing dominates, cheapest first. Two that are equal in both figures stay both."""
    left: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, p.harm)):
        if not left or point.harm < left[-1].harm or (point.cost, point.harm) == (left[-1].cost, left[-1].harm):
            left.append(point)
    return tuple(left)


def dominated_by(point: Point, points: Sequence[Point]) -> Point | None:
    """The point that dominates this one with the least harm, then the lowest cost, so it is on the frontier. None if nothing does."""
    better = [other for other in points if other.dominates(point)]
    return min(better, key=lambda p: (p.harm, p.cost), default=None)
