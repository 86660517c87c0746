"""Harm against bits as a straight line on a log axis: by what factor each bit taken away multiplies it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Decay:
    """log₂ harm = start + slope · bits, by least squares; `r` is the correlation."""

    slope: float
    start: float
    r: float

    @property
    def factor(self) -> float:
        """What one bit less multiplies the harm by."""
        return float(2.0**-self.slope)

    def at(self, bits: float) -> float:
        return float(2.0 ** (self.start + self.slope * bits))


def decay(bits: Sequence[float], harms: Sequence[float]) -> Decay:
    """The line through harms above 0 at two or more different bits."""
    if len(bits) != len(harms) or len(set(bits)) < 2:
        raise BadValue(f"{len(harms)} harms at {len(bits)} bits; give as many of each, at two different bits or more")
    for harm in harms:
        if not 0 < harm < math.inf:
            raise BadValue(f"a harm of {harm} has no place on a log axis; leave out what is not a finite number above 0")
    logs = [math.log2(harm) for harm in harms]
    x, y = sum(bits) / len(bits), sum(logs) / len(logs)
    xx = sum((b - x) ** 2 for b in bits)
    yy = sum((v - y) ** 2 for v in logs)
    xy = sum((b - x) * (v - y) for b, v in zip(bits, logs, strict=True))
    slope = xy / xx
    return Decay(slope, y - slope * x, xy / math.sqrt(xx * yy) if yy else 0.0)
