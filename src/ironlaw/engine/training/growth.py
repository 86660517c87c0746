"""How a ledger grows with the batch: every moment is a straight line in it, so two ledgers give all others, and the largest that fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor

from ironlaw.engine.training.ledger import Ledger, Moment
from ironlaw.errors import BadValue


@dataclass(frozen=True)
class Growth:
    """The same step at a micro-batch of one and of two."""

    one: Ledger
    two: Ledger

    def __post_init__(self) -> None:
        if [m.op for m in self.one.profile] != [m.op for m in self.two.profile]:
            raise BadValue(f"{self.one.model} runs other ops at a batch of two than at one; ask for each batch by itself")

    def at(self, batch: float) -> Ledger:
        """The ledger at any micro-batch."""
        return replace(self.one, profile=tuple(_line(a, b, batch) for a, b in zip(self.one.profile, self.two.profile, strict=True)))

    def peak(self, batch: float) -> float:
        return float(max(a.total + (batch - 1) * (b.total - a.total) for a, b in zip(self.one.profile, self.two.profile, strict=True)))

    def largest(self, capacity: float) -> int:
        """The largest micro-batch that fits; 0 where not even one sequence does."""
        sizes: list[int] = []
        for a, b in zip(self.one.profile, self.two.profile, strict=True):
            slope = b.total - a.total
            if a.total > capacity:
                return 0
            if slope > 0:
                sizes.append(1 + floor((capacity - a.total) / slope))
        if not sizes:
            raise BadValue(f"{self.one.model} needs no more memory for a larger batch; every batch fits")
        return min(sizes)


def _line(a: Moment, b: Moment, batch: float) -> Moment:
    return replace(a, bytes=tuple(x + (batch - 1) * (y - x) for x, y in zip(a.bytes, b.bytes, strict=True)))
