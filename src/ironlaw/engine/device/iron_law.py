"""T = D/BW + O/R + L: data, compute, overhead."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number, is_array, maximum
from ironlaw.engine.device.types import TERMS, check_positive


@dataclass(frozen=True, slots=True)
class Terms:
    """The three terms in seconds. Adds with `+`, term by term."""

    data: Number
    compute: Number
    overhead: Number = 0.0

    @property
    def sequential(self) -> Number:
        """One after the other: D/BW + O/R + L."""
        return self.data + self.compute + self.overhead

    @property
    def overlapped(self) -> Number:
        """Data moves while arithmetic runs: max(D/BW, O/R) + L."""
        return maximum(self.data, self.compute) + self.overhead

    @property
    def binding(self) -> Number:
        """The largest term: "memory", "compute" or "overhead"; the earlier one on a tie."""
        return binding(self.data, self.compute, self.overhead)

    def __add__(self, other: Terms) -> Terms:
        return Terms(self.data + other.data, self.compute + other.compute, self.overhead + other.overhead)


def binding(data: Number, compute: Number, overhead: Number) -> Number:
    """Which of the three is largest; an array of names for arrays."""
    if not is_array(data, compute, overhead):
        largest = max(data, compute, overhead)
        return TERMS[(data, compute, overhead).index(largest)]
    import numpy as np

    return np.array(TERMS)[np.argmax(np.stack(np.broadcast_arrays(data, compute, overhead)), axis=0)]


def iron_law(data: Number, operations: Number, bandwidth: Number, rate: Number, overhead: Number = 0.0, efficiency: Number = 1.0) -> Terms:
    """D bytes over BW bytes/s, O operations at η·R operations/s, L seconds."""
    check_positive("data D", data, zero=True)
    check_positive("operations O", operations, zero=True)
    check_positive("bandwidth BW", bandwidth)
    check_positive("rate R", rate)
    check_positive("overhead L", overhead, zero=True)
    check_positive("efficiency η", efficiency)
    return Terms(data / bandwidth, operations / (rate * efficiency), overhead)
