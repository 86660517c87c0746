"""α and β of one's own wires from timed collectives: T = steps·α + bytes/β, least squares of the relative error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ironlaw.errors import BadValue


class Timed(NamedTuple):
    """One collective: steps one after the other, bytes over the busiest (or the one shared) wire, seconds."""

    steps: float
    size: float
    seconds: float


class Wire(NamedTuple):
    """Seconds per step, and bytes per second; inf where bytes made no difference."""

    alpha: float
    beta: float

    def seconds(self, steps: float, size: float) -> float:
        return steps * self.alpha + size / self.beta


def fit(rows: Sequence[Timed]) -> Wire:
    """The two numbers, neither below 0."""
    a = [(row.steps / row.seconds, row.size / row.seconds) for row in rows]
    ss, sb, bb = (sum(x[i] * x[j] for x in a) for i, j in ((0, 0), (0, 1), (1, 1)))
    s, b = (sum(x[i] for x in a) for i in (0, 1))
    whole = ss * bb - sb * sb
    if len(rows) < 2 or whole <= 1e-12 * ss * bb:
        raise BadValue(
            "steps and bytes of these rows grow together, so their costs can't be told apart; time at least two sizes that are far apart",
            "rows",
        )
    alpha, slowness = (s * bb - b * sb) / whole, (b * ss - s * sb) / whole
    if alpha < 0:
        alpha, slowness = 0.0, b / bb
    elif slowness <= 0:
        alpha, slowness = s / ss, 0.0
    return Wire(alpha, 1.0 / slowness if slowness else math.inf)


def mean_error(wire: Wire, rows: Sequence[Timed]) -> float:
    """Mean of |fitted / timed − 1|."""
    return sum(abs(wire.seconds(row.steps, row.size) / row.seconds - 1) for row in rows) / len(rows)
