"""What a curve leaves unexplained, learnt from the nearest measured ops: a Gaussian process over the logarithm of measured / curve.

A curve says how a kind of kernel scales; it can't know that a library takes another tile for this shape. Ops that are near in their
signature (`backends.signatures`) share such choices, so the residuals of the nearest rows say how far the curve is off here, and how sure
that is: near a row as sure as rows repeat, far from all of them no surer than the family's scatter.

For each prediction only the `NEAREST` rows count (a local process): a handful of numbers, without NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul, truediv
from typing import Any

from ironlaw.engine.arrays import Number, is_array
from ironlaw.engine.device.uncertainty import materns

NEAREST = 16
KEPT = 4096  # answers that a family remembers: a server runs for days
FACTORS = 256  # sets of rows of which it remembers the factor: a dial that moves on mostly keeps its neighbours
NEAR = 1.0  # length scales within which the nearest row's number of kernels is taken
GRID = 17  # points of a sweep that are computed; between them the answer is interpolated


Factor = tuple[list[list[float]], list[float]]


@dataclass(frozen=True, slots=True)
class Correction:
    """How much to multiply a curve's time by, and how sure that is: `sd` is of the logarithm."""

    factor: Number
    sd: Number
    distance: Number  # to the nearest row, in length scales
    kernels: Number = 0.0  # how many more launches than the backend's rules say


@dataclass(frozen=True)
class Family:
    """Measured ops that are alike. `scales`: how far one must go along each axis before ops have little to do with each other."""

    scales: tuple[float, ...]
    noise: float  # sd with which a row repeats
    signal: float  # sd of the residuals before any neighbour is known
    widen: float  # by how much the process was too sure when each row was left out
    places: tuple[tuple[float, ...], ...]  # of the rows, divided by the scales
    residuals: tuple[float, ...]
    extras: tuple[float, ...] = ()  # kernels of each row beyond those of the backend's rules; none where the rules do better
    answers: dict[tuple[float, ...], Correction] = field(default_factory=dict, repr=False, compare=False)
    factors: dict[tuple[int, ...], Factor] = field(default_factory=dict, repr=False, compare=False)

    def at(self, place: Sequence[float], without: int = -1) -> Correction:
        """The correction at a place; `without` leaves a row out."""
        key = tuple(place)
        if without < 0 and key in self.answers:
            return self.answers[key]
        here = tuple(value / scale for value, scale in zip(place, self.scales, strict=True))
        distances = [math.dist(here, other) for other in self.places]
        nearest = sorted(range(len(distances)), key=distances.__getitem__)[: NEAREST + 1]
        correction = self.solve([i for i in nearest if i != without][:NEAREST], distances)
        if without < 0:
            if len(self.answers) >= KEPT:
                self.answers.clear()
            self.answers[key] = correction
        return correction

    def solve(self, near: Sequence[int], distances: Sequence[float]) -> Correction:
        """Kriging with the rows that are near, the nearest first: weights from a Cholesky factor of their correlations."""
        rows = tuple(sorted(near))
        lower, explained = self.factor(rows)
        towards = forward(lower, materns([distances[i] for i in rows]))
        mean = sum(map(mul, towards, explained))
        left = max(1.0 - sum(map(mul, towards, towards)), 0.0)
        sd = self.widen * math.sqrt(left * self.signal**2 + self.noise**2)
        distance = distances[near[0]]
        return Correction(math.exp(mean), sd, distance, self.extras[near[0]] if self.extras and distance < NEAR else 0.0)

    def factor(self, rows: tuple[int, ...]) -> Factor:
        """The factor of the correlations between these rows, and the residuals it explains; neither depends on the point asked for."""
        known = self.factors.get(rows)
        if known is None:
            places = [self.places[i] for i in rows]
            nugget = (self.noise / self.signal) ** 2
            lower = cholesky([[*materns([math.dist(a, b) for b in places[:i]]), 1.0 + nugget] for i, a in enumerate(places)])
            known = lower, forward(lower, [self.residuals[i] for i in rows])
            if len(self.factors) >= FACTORS:
                self.factors.clear()
            self.factors[rows] = known
        return known

    def along(self, place: Sequence[Number]) -> Correction:
        """The same where sizes are swept: asked at some places of the sweep, straight between them."""
        if not is_array(*place):
            return self.at(place)
        import numpy as np

        axes = np.broadcast_arrays(*(np.asarray(value, float) for value in place))
        flat = [axis.ravel() for axis in axes]
        chosen = np.unique(np.linspace(0, flat[0].size - 1, GRID).round().astype(int)) if _sorted(flat) else np.arange(flat[0].size)
        answers = [self.at([float(axis[i]) for axis in flat]) for i in chosen]
        shape = axes[0].shape

        def drawn(values: Sequence[float]) -> Any:
            return np.interp(np.arange(flat[0].size), chosen, values).reshape(shape)

        factor = np.exp(drawn([math.log(a.factor) for a in answers]))
        nearest = np.array([a.kernels for a in answers])[np.searchsorted((chosen[1:] + chosen[:-1]) / 2.0, np.arange(flat[0].size))]
        return Correction(factor, drawn([a.sd for a in answers]), drawn([a.distance for a in answers]), nearest.reshape(shape))

    def to_json(self) -> dict[str, Any]:
        return {
            "scales": list(self.scales), "noise": self.noise, "signal": self.signal, "widen": self.widen,
            "places": [[round(v * s, 4) for v, s in zip(p, self.scales, strict=True)] for p in self.places],
            "residuals": [round(r, 4) for r in self.residuals], "extras": list(self.extras),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Family:
        scales = tuple(data["scales"])
        if any(len(place) != len(scales) for place in data["places"]):
            raise ValueError(f"a place has not {len(scales)} figures, as there are scales")
        places = tuple(tuple(map(truediv, place, scales)) for place in data["places"])
        return cls(scales, data["noise"], data["signal"], data["widen"], places, tuple(data["residuals"]), tuple(data.get("extras", ())))


def cholesky(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower factor of a symmetric matrix, given by its lower half."""
    lower: list[list[float]] = []
    for i, row in enumerate(rows):
        line: list[float] = []
        for j, other in enumerate(lower):
            line.append((row[j] - sum(map(mul, line, other))) / other[j])
        line.append(math.sqrt(max(row[i] - sum(map(mul, line, line)), 1e-12)))
        lower.append(line)
    return lower


def forward(lower: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve lower · x = right."""
    x: list[float] = []
    for line, value in zip(lower, right, strict=True):
        x.append((value - sum(map(mul, line, x))) / line[-1])
    return x


def _sorted(axes: Sequence[Any]) -> bool:
    """Whether a sweep goes one way along every axis, so that what lies between two of its places lies between their answers."""
    import numpy as np

    steps = [np.diff(axis) for axis in axes]
    return all(bool((step >= 0).all() or (step <= 0).all()) for step in steps)
