"""The Universal Scalability Law (Gunther): S(n) = n / (1 + σ(n − 1) + κn(n − 1)).

σ is contention, the serial share: with κ = 0 this is Amdahl's law. κ is crosstalk, the price of each pair of workers that have to agree;
with it, more workers are slower beyond √((1 − σ)/κ).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import check_positive
from ironlaw.engine.scaling.amdahl import check_share, check_workers
from ironlaw.engine.scaling.student import t_quantile
from ironlaw.errors import BadValue

Interval = tuple[float, float]


def usl(n: Number, sigma: Number, kappa: Number) -> Number:
    """How much faster n workers are on a job of fixed size."""
    check_workers(n)
    check_share("contention σ", sigma)
    check_positive("crosstalk κ", kappa, zero=True)
    return n / (1.0 + (n - 1.0) * (sigma + kappa * n))


def usl_grown(n: Number, sigma: Number, kappa: Number) -> Number:
    """The same for a job whose parallel part grows with n while the serial part and the price of agreeing stay: Gustafson at κ = 0."""
    check_workers(n)
    check_share("contention σ", sigma)
    check_positive("crosstalk κ", kappa, zero=True)
    return (sigma + (1.0 - sigma) * n) / (1.0 + kappa * (n - 1.0))


def usl_peak(sigma: float, kappa: float) -> float:
    """The number of workers beyond which more are slower, √((1 − σ)/κ) and at least 1; inf without crosstalk: no peak."""
    check_share("contention σ", sigma)
    check_positive("crosstalk κ", kappa, zero=True)
    return max(1.0, math.sqrt((1.0 - sigma) / kappa)) if kappa else math.inf


def best_workers(sigma: float, kappa: float) -> float:
    """The whole number of workers that is fastest, the smaller on a tie; inf without crosstalk."""
    peak = usl_peak(sigma, kappa)
    if math.isinf(peak):
        return peak
    low = float(math.floor(peak))
    return low if usl(low, sigma, kappa) >= usl(low + 1, sigma, kappa) else low + 1


@dataclass(frozen=True, slots=True)
class UslFit:
    """σ and κ from measured points, with 95% intervals; an interval is None where the points leave no freedom to judge by."""

    sigma: float
    kappa: float
    sigma_interval: Interval | None
    kappa_interval: Interval | None
    worst: float  # the largest relative distance of a point from the curve
    points: tuple[tuple[float, float], ...]

    def speedup(self, n: Number) -> Number:
        return usl(n, self.sigma, self.kappa)

    @property
    def peak(self) -> float:
        return usl_peak(self.sigma, self.kappa)


def fit_usl(points: Iterable[Sequence[float]]) -> UslFit:
    """σ and κ by least squares on the relative error of n/S − 1 = σ(n − 1) + κn(n − 1); neither falls below 0.

    A point is (workers, speed-up over one worker). A point at one worker says nothing and is kept for show.
    """
    pairs = tuple((float(n), float(speedup)) for n, speedup in points)
    for n, speedup in pairs:
        check_workers(n)
        check_positive(f"speed-up on {n:g} workers", speedup)
    sizes = {n for n, _ in pairs if n > 1.0}
    if len(sizes) < 2:
        raise BadValue(
            f"σ and κ need speed-ups at two numbers of workers above 1, given {len(sizes)}; measure one more, say at twice as many workers"
        )
    rows = [_row(n, speedup) for n, speedup in pairs if n > 1.0]
    try:
        sigma, kappa = _within_bounds(rows)
        worst = max(abs(usl(n, sigma, kappa) / speedup - 1.0) for n, speedup in pairs)
        intervals = _intervals(rows, sigma, kappa)
    except (OverflowError, ZeroDivisionError, ValueError):
        listed = ", ".join(f"{speedup:.3g} on {n:g}" for n, speedup in pairs[:5])
        raise BadValue(f"no curve fits these speed-ups ({listed}): they are too far apart; check the figures and their units") from None
    return UslFit(sigma, kappa, *intervals, worst, pairs)


def _row(n: float, speedup: float) -> tuple[float, float, float]:
    """The two columns and the target, each over n/S: a few percent of S weigh the same at every n."""
    weight = speedup / n
    return weight * (n - 1.0), weight * n * (n - 1.0), weight * (n / speedup - 1.0)


def _within_bounds(rows: list[tuple[float, float, float]]) -> tuple[float, float]:
    """The best σ in 0…1 and κ ≥ 0: the free fit where it is inside, else the best on an edge."""
    aa, ab, bb, ay, by = _moments(rows)
    spread = aa * bb - ab * ab
    sigma, kappa = (bb * ay - ab * by) / spread, (aa * by - ab * ay) / spread
    if 0.0 <= sigma <= 1.0 and kappa >= 0.0:
        return sigma, kappa
    edges = [(0.0, max(0.0, by / bb)), (1.0, max(0.0, (by - ab) / bb)), (min(1.0, max(0.0, ay / aa)), 0.0)]
    return min(edges, key=lambda edge: _misfit(rows, *edge))


def _moments(rows: list[tuple[float, float, float]]) -> tuple[float, float, float, float, float]:
    return (
        math.fsum(a * a for a, _, _ in rows), math.fsum(a * b for a, b, _ in rows), math.fsum(b * b for _, b, _ in rows),
        math.fsum(a * y for a, _, y in rows), math.fsum(b * y for _, b, y in rows),
    )  # fmt: skip


def _misfit(rows: list[tuple[float, float, float]], sigma: float, kappa: float) -> float:
    return math.fsum((y - sigma * a - kappa * b) ** 2 for a, b, y in rows)


def _intervals(rows: list[tuple[float, float, float]], sigma: float, kappa: float) -> tuple[Interval | None, Interval | None]:
    """95%, from the residuals and Student's t; cut at 0, where neither figure can be less."""
    freedom = len(rows) - 2
    if freedom < 1:
        return None, None
    aa, ab, bb, _, _ = _moments(rows)
    variance = _misfit(rows, sigma, kappa) / freedom / (aa * bb - ab * ab)
    reach = t_quantile(0.975, freedom)
    low_high = [(max(0.0, value - reach * math.sqrt(variance * other)), value + reach * math.sqrt(variance * other))
                for value, other in ((sigma, bb), (kappa, aa))]  # fmt: skip
    return low_high[0], low_high[1]
