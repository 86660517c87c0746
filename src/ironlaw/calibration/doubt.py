"""How sure an op's time is: the scatter of its family around it, or of its curves, wider with the distance from what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from ironlaw.backends.kernel import Kernel
from ironlaw.backends.signatures import Signature
from ironlaw.calibration.coverage import DOUBLINGS, Measured, beyond, locate
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.neighbours import Correction
from ironlaw.engine.arrays import SCALARS, Number, largest, log2, maximum
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.uncertainty import ROOT3, Doubt, matern

LEAST = 0.03  # sd with which the same kernel repeats on another day and another board, at best
WIDEST = 1.0  # sd of a stand-in where no machine says how far off one is


class Judged(Measured, Protocol):
    """A calibration that says how far off a stand-in is."""

    @property
    def stand_in(self) -> float: ...


def doubt(op: Op, model: Judged, kernels: Sequence[Kernel], signature: Signature | None, near: Correction | None) -> Doubt:
    """`near`: what the neighbours said of this op, if it has any."""
    where = locate(op, model, kernels, signature, near)
    if where.place == "unknown":
        return Doubt(math.inf, op.kind, place="unknown")
    stand_in = model.stand_in or WIDEST
    if signature and near is not None:
        family = model.families[signature.family]
        far = maximum(near.distance - 1.0, 0.0)
        sd = near.sd if largest(far) == 0 else (near.sd**2 + farther(far) * stand_in**2) ** 0.5
        return Doubt(sd, signature.family, tuple(v / s for v, s in zip(signature.place, family.scales, strict=True)), where.place)
    return _by_curves(op, model, kernels, where.place, stand_in)


def farther(distance: Number) -> Number:
    """The share of a stand-in's variance that a curve takes on, `distance` length scales beyond its samples."""
    if isinstance(distance, SCALARS):
        return 1.0 - matern(distance) ** 2
    import numpy as np

    x = ROOT3 * distance
    return 1.0 - ((1.0 + x) * np.exp(-x)) ** 2


def _by_curves(op: Op, model: Judged, kernels: Sequence[Kernel], place: str, stand_in: float) -> Doubt:
    """Kernels that follow different curves err apart; the op goes with the ops of its longest kernel's curve."""
    whole: Number = 0.0
    variance: Number = 0.0
    longest, leading = -1.0, None
    for kernel in kernels:
        curve = model.curve(kernel.curve, kernel.curve)
        seconds = points(kernel.count * curve.terms(kernel, model.cache_bytes)[2])
        own = kernel.curve in model.curves or model.library.alike(op, kernel)
        off = stand_in**2 * (farther(_beyond(kernel, curve)) if own else 1.0)
        if kernel.curve not in model.curves and kernel.curve in model.library.estimates:  # which says itself how sure it is
            off = 0.0
        whole = whole + seconds
        variance = variance + seconds**2 * (max(curve.scatter, LEAST) ** 2 + off)
        if largest(seconds) > longest:
            longest, leading = largest(seconds), kernel
    if leading is None or not largest(whole):
        return Doubt(LEAST, "", place=place)
    known = leading.curve in model.curves or leading.curve in model.library.estimates
    name = leading.curve if known else model.library.fallback.get(leading.curve, "elementwise")
    return Doubt(variance**0.5 / whole, f"{name} curve", (log2(maximum(points(leading.data), 1.0)) / DOUBLINGS,), place)


def _beyond(kernel: Kernel, curve: Curve) -> Number:
    """How far a kernel's bytes lie beyond those of the curve's samples, in length scales; of a sweep, point by point."""
    if not curve.largest or isinstance(kernel.data, SCALARS):
        return beyond(kernel, curve)
    size = log2(maximum(points(kernel.data), 1.0))
    over, under = size - log2(curve.largest), log2(max(curve.smallest, 1.0)) - size
    return maximum(maximum(over, under), 0.0) / DOUBLINGS
