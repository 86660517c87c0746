"""How a ledger grows with the batch: every moment is a straight line in it, so two ledgers give all others, and the largest that fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import floor

from ironlaw.engine.training.training_ledger import Ledger, Run
from ironlaw.engine.training.training_step import Load
from ironlaw.errors import BadValue


@dataclass(frozen=True)
class Growth:
    """The same step at a microbatch of one and of two."""

    one: Ledger
    two: Ledger

    def __post_init__(self) -> None:
        if not _alike(self.one.run, self.two.run):
            raise BadValue(f"{self.one.model} runs different ops at a batch of two than at one; ask for each batch by itself")

    @cached_property
    def lines(self) -> tuple[tuple[float, float], ...]:
        """(bytes at a batch of one, bytes for each further sample) of the moments that can be the peak: no other line is above them."""
        held, share = self.one.static, self.one.share
        always = float(held.total if share is None else held.total - held.gradients)
        moments = [(always + start, slope) for start, slope in _highest_loads(self.one.run, self.two.run, share)]
        update = float(self.one.update.total)
        return _highest([*moments, (update, float(self.two.update.total) - update)])

    def at(self, batch: float) -> Ledger:
        """The ledger at any microbatch."""
        more = batch - 1
        loads = tuple(
            [
                Load(
                    a.phase, a.op, a.kept + more * (b.kept - a.kept), a.head + more * (b.head - a.head),
                    a.passing + more * (b.passing - a.passing), a.gradients,
                )
                for a, b in zip(self.one.run.loads, self.two.run.loads, strict=True)
            ]
        )  # fmt: skip
        pairs = zip(self.one.update.bytes, self.two.update.bytes, strict=True)
        update = self.one.update._replace(bytes=tuple([a + more * (b - a) for a, b in pairs]))
        return replace(self.one, run=Run(loads), update=update)

    def peak(self, batch: float) -> float:
        return max(start + (batch - 1) * slope for start, slope in self.lines)

    def largest(self, capacity: float) -> int:
        """The largest microbatch that fits; 0 where not even one sequence does."""
        if self.lines[0][0] > capacity:
            return 0
        sizes = [1 + floor((capacity - start) / slope) for start, slope in self.lines if slope > 0]
        if not sizes:
            raise BadValue(f"{self.one.model} needs no more memory for a larger batch; every batch fits")
        return min(sizes)


@lru_cache(maxsize=64)  # each keeps two runs alive
def _alike(one: Run, two: Run) -> bool:
    return [load.op for load in one.loads] == [load.op for load in two.loads]


@lru_cache(maxsize=64)
def _highest_loads(one: Run, two: Run, share: float | None) -> tuple[tuple[float, float], ...]:
    """The same for what a microbatch adds, and the gradients with it where they come and go."""
    kept = share or 0.0

    def sizes(run: Run) -> list[float]:
        return [float(load.kept + load.head + load.passing + kept * load.gradients) for load in run.loads]

    return _highest((a, b - a) for a, b in zip(sizes(one), sizes(two), strict=True))


def _highest(lines: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    best: list[tuple[float, float]] = []
    for start, slope in sorted(set(lines), reverse=True):
        if not best or slope > best[-1][1]:
            best.append((start, slope))
    return tuple(best)
