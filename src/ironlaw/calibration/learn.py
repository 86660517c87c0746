"""Rows of single ops -> families of neighbours: how far to look along each axis, how much rows repeat, how sure to be.

The constants are those under which each row is best predicted by the others (leave one out, under Student's t so that an odd row does not
rule), found axis by axis. Then the process is widened until four rows in five, each left out, fall where it says four in five should.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from ironlaw.backends.signatures import Signature
from ironlaw.calibration.neighbours import NEAR, Family
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE

FEWEST = 12  # rows of a family
MOST = 300  # rows from which constants are found; all of them count in a prediction
STEADIEST = 0.03  # sd with which the same op repeats on another day and another board, at best
STARTS = (1.0, 2.0, 4.0, 8.0)
FREEDOM = 4.0  # degrees of Student's t
BETTER = 0.5  # of the log-likelihood, for a step to be worth it
BETTER_COUNTS = 0.8  # of the rules' error, for neighbours to be asked how many kernels there are


@dataclass(frozen=True, slots=True)
class Residual:
    """What curves and rules leave unexplained of one row."""

    signature: Signature
    time: float  # log(measured / curve)
    kernels: float  # launches beyond those of the backend's rules


def families(rows: Iterable[Residual]) -> dict[str, Family]:
    """The families that have enough rows; none where NumPy is not installed, and the curves stand alone."""
    if find_spec("numpy") is None:
        return {}
    groups: dict[str, list[tuple[tuple[float, ...], float, float]]] = {}
    for row in rows:
        groups.setdefault(row.signature.family, []).append((row.signature.place, row.time, row.kernels))
    return {name: learn(rows) for name, rows in sorted(groups.items()) if len(rows) >= FEWEST}


def learn(rows: Sequence[tuple[tuple[float, ...], float, float]]) -> Family:
    import numpy as np

    rows = sorted(rows)
    step = max(1, math.ceil(len(rows) / MOST))
    some = rows[::step]
    x, y = np.array([place for place, *_ in some], float), np.array([residual for _, residual, _ in some])
    signal = max(float(np.sqrt(np.mean(y * y))), STEADIEST)
    scales, noise, signal = _search(x, y, signal)
    rounded = tuple(float(f"{scale:.4g}") for scale in scales)
    places = tuple(tuple(v / s for v, s in zip(place, rounded, strict=True)) for place, *_ in rows)
    residuals = tuple(round(residual, 4) for _, residual, _ in rows)
    family = Family(rounded, round(noise, 4), round(signal, 4), 1.0, places, residuals, tuple(extra for *_, extra in rows))
    return replace(family, widen=widening(family), extras=family.extras if _counts_help(family) else ())


def _counts_help(family: Family) -> bool:
    """Whether the nearest other row predicts how many kernels there are better than the rules do."""
    import numpy as np

    off, places = 0.0, np.array(family.places)
    for i, extra in enumerate(family.extras):
        distance, nearest = _nearest(places, i)
        off += abs(extra - (family.extras[nearest] if distance < NEAR else 0.0))
    return off < BETTER_COUNTS * sum(map(abs, family.extras))


def _nearest(places: Any, i: int) -> tuple[float, int]:
    """The row nearest to row i and how far it is; the first of those equally far."""
    import numpy as np

    distances = np.sqrt(((places - places[i]) ** 2).sum(1))
    distances[i] = np.inf
    nearest = int(np.argmin(distances))
    return float(distances[nearest]), nearest


def _place(family: Family, i: int) -> list[float]:
    return [v * s for v, s in zip(family.places[i], family.scales, strict=True)]


def widening(family: Family) -> float:
    """How much the spread must grow for four rows in five, each left out, to fall inside."""
    shares: list[float] = []
    for i in range(0, len(family.places), max(1, len(family.places) // 200)):
        predicted = family.at(_place(family, i), without=i)
        shares.append(abs(family.residuals[i] - math.log(predicted.factor)) / predicted.sd)
    shares.sort()
    return round(max(shares[min(math.ceil(0.8 * len(shares)), len(shares) - 1)] / FOUR_IN_FIVE, 0.5), 3)


def _search(x: Any, y: Any, signal: float) -> tuple[list[float], float, float]:
    axes = x.shape[1]
    first = min((_loss(x, y, [start] * axes, noise, signal), start, noise) for start in STARTS for noise in (STEADIEST, 0.08))
    best, scales, noise = first[0], [first[1]] * axes, first[2]
    for _ in range(2):
        for axis in range(axes):
            for times in (0.5, 2.0, 4.0):
                tried = [scale * times if i == axis else scale for i, scale in enumerate(scales)]
                loss = _loss(x, y, tried, noise, signal)
                if loss < best - BETTER:
                    best, scales = loss, tried
        for times in (0.5, 2.0):
            loss = _loss(x, y, scales, max(noise * times, STEADIEST), signal)
            if loss < best - BETTER:
                best, noise = loss, max(noise * times, STEADIEST)
            loss = _loss(x, y, scales, noise, signal * times)
            if loss < best - BETTER:
                best, signal = loss, signal * times
    return scales, noise, signal


def _loss(x: Any, y: Any, scales: Sequence[float], noise: float, signal: float) -> float:
    """Minus the log-likelihood of each row given all others, from one inverse (Rasmussen and Williams 2006, 5.4.2)."""
    import numpy as np

    z = x / np.array(scales)
    squares = (z * z).sum(1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * z @ z.T, 0.0)) * math.sqrt(3.0)
    shared = signal**2 * (1.0 + distances) * np.exp(-distances) + noise**2 * np.eye(len(y))
    inverse = np.linalg.inv(shared)
    variance = 1.0 / np.diag(inverse)
    off = inverse @ y * variance
    tails = (FREEDOM + 1.0) / 2.0 * np.log1p(off * off / variance / FREEDOM)
    return float((0.5 * np.log(variance) + tails).sum())
