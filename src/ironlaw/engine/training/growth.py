"""How a ledger grows with the batch: every moment is a straight line in it, so two ledgers give all others, and the largest that fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
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

    @cached_property
    def lines(self) -> tuple[tuple[float, float], ...]:
        """(bytes at a batch of one, bytes for each further sample) of the moments that can be the peak: no other line is above them."""
        pairs = {(float(a.total), float(b.total - a.total)) for a, b in zip(self.one.profile, self.two.profile, strict=True)}
        best: list[tuple[float, float]] = []
        for start, slope in sorted(pairs, reverse=True):
            if not best or slope > best[-1][1]:
                best.append((start, slope))
        return tuple(best)

    def at(self, batch: float) -> Ledger:
        """The ledger at any micro-batch."""
        return replace(self.one, profile=tuple(_line(a, b, batch) for a, b in zip(self.one.profile, self.two.profile, strict=True)))

    def peak(self, batch: float) -> float:
        return max(start + (batch - 1) * slope for start, slope in self.lines)

    def largest(self, capacity: float) -> int:
        """The largest micro-batch that fits; 0 where not even one sequence does."""
        if self.lines[0][0] > capacity:
            return 0
        sizes = [1 + floor((capacity - start) / slope) for start, slope in self.lines if slope > 0]
        if not sizes:
            raise BadValue(f"{self.one.model} needs no more memory for a larger batch; every batch fits")
        return min(sizes)


def _line(a: Moment, b: Moment, batch: float) -> Moment:
    return Moment(a.phase, a.op, tuple([x + (batch - 1) * (y - x) for x, y in zip(a.bytes, b.bytes, strict=True)]))
