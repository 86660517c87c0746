"""How far a predicted time may be off: operator by operator, and for all of them together.

A time's error is judged by its logarithm, so that a factor of two too long and one too short are alike. An operator i of tᵢ seconds is off
by a normal error of sd sᵢ. Of a total T = Σ tᵢ, to first order,

    (sd T / T)² = κ² Σᵢ Σⱼ tᵢ sᵢ ρᵢⱼ tⱼ sⱼ / T² + τ²

ρ is 1 for operators of the same signature: fifty equal layers are off by the same factor, and fifty times as many are no surer. Within a
family (the same measured rows, or the same curve) ρ falls with the distance as the process does that learnt from the rows, to what the
whole family has in common. Operators of different families err apart. κ says how many times as far off whole models turn out as their
operators say, found by models that nobody had looked at (`calibration.scatter`); τ is what has no operators to go by, as launches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

from ironlaw.engine.arrays import SCALARS, Number, is_array, maximum, minimum
from ironlaw.engine.device.sweep import points

FOUR_IN_FIVE = 1.2816  # sd to each side that hold four in five
ROOT3 = math.sqrt(3.0)
PLACES = ("inside", "near", "outside", "unknown")  # where an op may lie among what was measured
BEYOND = ("outside", "unknown")
SAID = 0.1  # share of a time beyond what was measured from which that must be said
GRID = 17  # points of a sweep at which the sum over pairs is made; between them it is drawn straight
Interval = tuple[Number, Number]


@dataclass(frozen=True, slots=True)
class Doubt:
    """How sure the device time of an op is. `family` and `at`: which ops err with it, and how far from one another they are."""

    sd: Number  # of the logarithm; inf where nothing that was measured says
    family: str
    at: tuple[Number, ...] = ()  # in length scales: one apart, ops have little in common
    place: str = "inside"  # one of PLACES

    @property
    def known(self) -> bool:
        return self.place != "unknown"


class Scatter(NamedTuple):
    """How whole models came out beside the sum of their operators, as logarithms of measured / predicted."""

    bias: float
    sd: float  # τ: beside what the operators say
    scale: float = 1.0  # κ: times what the operators say

    def widen(self, sd: Number) -> Number:
        """The sd of a whole model whose operators alone give `sd`."""
        return ((self.scale * sd) ** 2 + self.sd**2) ** 0.5


SURE = Scatter(0.0, 0.0)


def matern(distance: float) -> float:
    """How much two ops so far apart have in common: once differentiable, so that a jump between tiles is not smoothed far out."""
    return (1.0 + ROOT3 * distance) * math.exp(-ROOT3 * distance)


def materns(distances: Sequence[float]) -> list[float]:
    """The same for many: this is where predicting an unseen op spends its time."""
    return [(1.0 + x) * math.exp(-x) for x in [ROOT3 * distance for distance in distances]]


def around(seconds: Number, sd: Number, bias: float = 0.0, least: Number = 0.0) -> Interval:
    """Where four measurements in five should fall. It holds the time itself, and nothing below the least that is possible."""
    low, high = seconds * _exp(bias - FOUR_IN_FIVE * sd), seconds * _exp(bias + FOUR_IN_FIVE * sd)
    return minimum(maximum(low, least), seconds), maximum(high, seconds)


def combined_sd(parts: Sequence[tuple[Number, Doubt]], common: float) -> Number:
    """The relative sd of a sum of device times from their own. `common`: what any two ops of a family share, however far apart."""
    apart, together = combined_sds(parts)
    return blend(apart, together, common)


def blend(apart: Number, together: Number, common: float) -> Number:
    return ((1.0 - common) * apart**2 + common * together**2) ** 0.5


def combined_sds(parts: Sequence[tuple[Number, Doubt]]) -> tuple[Number, Number]:
    """The relative sd of a sum of device times: if ops of a family share what their distance says, and if they are off by the same factor.

    `parts` are the seconds of each distinct op, all its repeats added. Ops of unknown time are left out: nothing is known of their errors.
    """
    known = [(seconds, doubt) for seconds, doubt in parts if doubt.known]
    if any(is_array(seconds, d.sd, *d.at) for seconds, d in known):
        return _swept_sds(known, max(points(v).size for seconds, d in known for v in (seconds, d.sd, *d.at) if is_array(v)))
    whole = sum(seconds for seconds, _ in known)
    families: dict[str, list[tuple[float, Doubt]]] = {}
    for seconds, doubt in known:
        families.setdefault(doubt.family, []).append((seconds * doubt.sd, doubt))
    apart = sum(variance(weighed) for weighed in families.values())
    together = sum(sum(weight for weight, _ in weighed) ** 2 for weighed in families.values())
    return (math.sqrt(apart) / whole, math.sqrt(together) / whole) if whole else (0.0, 0.0)


def variance(weighed: Sequence[tuple[float, Doubt]]) -> float:
    """Σᵢ Σⱼ wᵢ ρᵢⱼ wⱼ over the ops of one family, wᵢ = tᵢ sᵢ; below 0 for ops of what is subtracted."""
    squares = 0.0
    weights: list[float] = []
    places: list[tuple[Number, ...]] = []
    for weight, doubt in weighed:
        here = doubt.at
        shared = sum(map(mul, weights, materns([math.dist(here, there) for there in places])))
        squares += weight * (weight + 2.0 * shared)
        weights.append(weight)
        places.append(here)
    return squares


def _swept_sds(known: Sequence[tuple[Number, Doubt]], size: int) -> tuple[Number, Number]:
    """The same over a sweep: at some of its points, straight between them."""
    import numpy as np

    chosen = np.unique(np.linspace(0, size - 1, GRID).round().astype(int))

    def along(value: Number) -> list[float]:
        if isinstance(value, SCALARS):
            return [float(value)] * len(chosen)
        return [float(v) for v in np.broadcast_to(np.ravel(points(value)), size)[chosen]]

    columns = [(along(seconds), along(d.sd), list(zip(*map(along, d.at), strict=True)), d) for seconds, d in known]
    pairs = []
    for i in range(len(chosen)):
        one = [(s[i], Doubt(sds[i], d.family, at[i] if at else ())) for s, sds, at, d in columns]
        pairs.append(combined_sds(one))
    apart, together = (np.interp(np.arange(size), chosen, column) for column in zip(*pairs, strict=True))
    return apart, together


def shares(parts: Iterable[tuple[Number, Doubt]]) -> dict[str, float]:
    """The share of the device time in each place; of a sweep, over all of its points."""
    seconds = dict.fromkeys(PLACES, 0.0)
    for value, doubt in parts:
        seconds[doubt.place] += float(value) if isinstance(value, SCALARS) else float(points(value).sum())
    whole = sum(seconds.values())
    return {name: value / whole if whole else 0.0 for name, value in seconds.items()}


def _exp(value: Number) -> Number:
    if isinstance(value, SCALARS):
        return math.exp(value) if value < 700.0 else math.inf
    import numpy as np

    return np.exp(value)
