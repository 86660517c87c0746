"""How long requests took, whoever measured or simulated them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ironlaw.engine.serving.line import ranked


class Latencies:
    """The part of a run that only has the seconds of its requests."""

    seconds: Sequence[float]

    @cached_property
    def ordered(self) -> list[float]:
        return sorted(self.seconds)

    @property
    def n(self) -> int:
        return len(self.seconds)

    def quantile(self, p: float) -> float:
        """The quantile by nearest rank."""
        return float(ranked(self.ordered, p))
