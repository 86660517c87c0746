"""A fitted curve: what one kind of kernel takes on a measured machine.

A kernel that moves D bytes and does O operations over R rows, with an inner loop of depth k, takes

    t = floor + ‖ D / BW(D),  O·(1 + k₀/k) / rate,  R·row,  k·step ‖ₚ

BW(D) goes from the cache's bandwidth to main memory's as the working set outgrows the cache. k₀ is what filling and
emptying a tile costs, in steps; p says how well the terms overlap (1: one after the other; large: the longest alone).
`calibration.fit` finds the constants from evidence on single ops; none of them is fitted to a whole model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw.backends.kernel import Kernel
from ironlaw.engine.arrays import SCALARS, Number, is_positive, maximum, minimum
from ironlaw.engine.device.sweep import points

NORMAL = 1.2533  # sd over mean |error|, of a normal error
DEEPER, LARGER = 2.0, 16.0  # times the deepest and the largest sample: from there on a curve is compared with its like
CACHE_FROM, CACHE_TO = 0.35, 1.5  # shares of the cache between which a working set stops fitting


@dataclass(frozen=True, slots=True)
class Curve:
    """Constants of one kind of kernel; a rate or bandwidth of inf means that the term takes no time."""

    floor: float
    cache: float = float("inf")  # bytes/s while the working set fits the cache
    main: float = float("inf")  # bytes/s from main memory
    rate: float = float("inf")  # operations/s
    knee: float = 0.0  # k₀
    row: float = 0.0  # seconds per row
    step: float = 0.0  # seconds per step of the inner loop
    p: int = 4
    error: float = 0.0  # mean |relative error| over the samples
    samples: int = 0
    smallest: float = 0.0  # bytes that the samples move, from … to; 0: a file that doesn't say
    largest: float = 0.0
    sd: float = 0.0  # of log(measured / curve), for four samples in five; 0: a file that doesn't say
    deepest: float = 0.0  # steps of the inner loop that the samples have at most; 0: none, or a file that doesn't say

    @property
    def scatter(self) -> float:
        """The sd of log(measured / curve)."""
        return self.sd or NORMAL * self.error

    def deeper(self, kernel: Kernel) -> Any:
        """Whether a kernel's inner loop is so much longer than any sample's that its steps may cost something else."""
        return points(kernel.depth) > DEEPER * self.deepest if self.deepest else False

    def larger(self, kernel: Kernel) -> Any:
        """Whether it moves so much more than any sample that its rates may differ."""
        return points(kernel.data) > LARGER * self.largest if self.largest else False

    def terms(self, kernel: Kernel, cache_bytes: float) -> tuple[Number, Number, Number]:
        """(data, compute, total) in seconds for one launch."""
        data_s, compute_s, _, total = self.parts(kernel, cache_bytes)
        return data_s, compute_s, total

    def parts(self, kernel: Kernel, cache_bytes: float) -> tuple[Number, Number, Number, Number]:
        """(data, compute, both as they overlap, total) in seconds for one launch."""
        outgrown = minimum(maximum((kernel.data / cache_bytes - CACHE_FROM) / (CACHE_TO - CACHE_FROM), 0.0), 1.0)
        data_s = (outgrown * (1.0 / self.main - 1.0 / self.cache) + 1.0 / self.cache) * kernel.data
        compute_s = kernel.flops / self.rate
        if self.knee and is_positive(kernel.depth):
            compute_s = compute_s * (1.0 + self.knee / kernel.depth)
        overlap = norm(self.p, data_s, compute_s)
        rest = norm(self.p, overlap, kernel.rows * self.row)
        return data_s, compute_s, overlap, self.floor + norm(self.p, rest, kernel.depth * self.step)


def norm(p: int, a: Number, b: Number) -> Number:
    """(aᵖ + bᵖ)^(1/p) for p of 1, 2 or 4."""
    if isinstance(b, SCALARS) and b == 0:
        return a
    if p == 1:
        return a + b
    a, b = points(a), points(b)
    a, b = a * a, b * b
    if p == 2:
        return (a + b) ** 0.5
    return ((a * a + b * b) ** 0.5) ** 0.5
