"""How near an op lies to what was measured: inside, near, outside, or unknown.

Where ops of its kind are compared with their neighbours, the distance is that to the nearest measured row, in length scales
(`calibration.neighbours`). Leaving rows out, the correction is off by 3–12% within half a length scale, by two or three times that up to
one, and beyond that it says hardly more than the curve alone. Where there are no neighbours but a curve, a length scale is two doublings
beyond the sizes of the curve's samples.

- inside: within half a length scale of a row;
- near: within one; or ops like it were measured in another format, or it is a plain stream that the curve of another plain stream serves;
- outside: farther, or only the curve of another kind serves it;
- unknown: the machine was not measured, or no curve serves the op.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from ironlaw.backends import Backend
from ironlaw.backends.kernel import Kernel
from ironlaw.backends.signatures import Signature
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.neighbours import NEAR, Correction, Family
from ironlaw.engine.arrays import largest, smallest
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.uncertainty import PLACES
from ironlaw.engine.device.work import category
from ironlaw.errors import UnsupportedPrecision

INSIDE = 0.5  # length scales; NEAR, one, is where neighbours end
DOUBLINGS = 2.0  # of a kernel's bytes, in one length scale, where an op has no neighbours
COMPARED = ("fft", "solver")  # opaque ones that were measured and have neighbours
FLOOR = 1.1  # times a curve's floor: hardly more than that
SHARE = 0.1  # of an op's time, from which a kernel of it counts
EAGER = Plan()


class Coverage(NamedTuple):
    """Where an op lies, how far from evidence in length scales, and the family or curve that says so."""

    place: str
    distance: float
    family: str


NOTHING = Coverage("unknown", math.inf, "")


@runtime_checkable
class Measured(Protocol):
    """What coverage asks of a calibration."""

    @property
    def library(self) -> Backend: ...

    @property
    def families(self) -> Mapping[str, Family]: ...

    @property
    def curves(self) -> Mapping[str, Curve]: ...

    @property
    def cache_bytes(self) -> float: ...

    def curve(self, name: str, kind: str) -> Curve: ...


class Row(Protocol):
    """A row of a prediction."""

    @property
    def op(self) -> Op: ...

    @property
    def seconds(self) -> float: ...


def coverage(op: Op, hardware: Hardware, plan: Plan = EAGER) -> Coverage:
    """Where an op lies among what was measured on a machine; of a sweep, its farthest point."""
    model = hardware.calibration if plan.calibrated else None
    if not isinstance(model, Measured):
        return NOTHING
    if op.work.launches == 0 and op.kind != "fused":
        return Coverage("inside", 0.0, op.kind)  # a view: no kernel, no time
    signature = model.library.signature(op, plan.lowering) if model.families else None
    family = model.families.get(signature.family) if signature else None
    near = family.along(signature.place) if signature and family else None
    return locate(op, model, model.library.lower(op, hardware, plan.lowering), signature, near)


def locate(op: Op, model: Measured, kernels: Sequence[Kernel], signature: Signature | None, near: Correction | None) -> Coverage:
    """The same for a caller who has already lowered the op and asked its neighbours."""
    parts = op.attrs.get("parts", (op,))
    opaque = [part for part in parts if category(part.kind) == "opaque" and part.kind not in COMPARED]
    if any("flops" not in part.attrs for part in opaque):
        return Coverage("unknown", math.inf, op.kind)
    if opaque or any(model.library.stands_in(part) for part in parts):  # one whose author says what it costs rests on no row either
        return Coverage("outside", math.inf, op.kind)
    if signature and near is not None:
        distance = float(largest(near.distance))
        return Coverage(place(distance), distance, signature.family)
    found = _by_curves(op, kernels, model)
    relatives = signature and any(name.split()[0] == signature.family.split()[0] for name in model.families)
    return _at_best_near(found) if relatives else found


def place(distance: float) -> str:
    """The word for a distance."""
    return "inside" if distance <= INSIDE else "near" if distance <= NEAR else "outside"


def shares(rows: Iterable[Row], hardware: Hardware, plan: Plan = EAGER) -> dict[str, float]:
    """The share of a prediction's device time in each place; ops with equal keys are looked up once."""
    seconds = dict.fromkeys(PLACES, 0.0)
    known: dict[object, str] = {}
    for row in rows:
        if row.op.key not in known:
            known[row.op.key] = coverage(row.op, hardware, plan).place
        seconds[known[row.op.key]] += float(largest(points(row.seconds)))
    whole = sum(seconds.values())
    return {name: value / whole if whole else 0.0 for name, value in seconds.items()}


def _by_curves(op: Op, lowered: Sequence[Kernel], model: Measured) -> Coverage:
    """The farthest of the kernels that make up the op's time."""
    try:
        kernels = [(kernel, model.curve(kernel.curve, op.kind)) for kernel in lowered]
    except UnsupportedPrecision:
        return NOTHING
    times = [float(largest(points(k.count * curve.terms(k, model.cache_bytes)[2]))) for k, curve in kernels]
    counted = [pair for pair, seconds in zip(kernels, times, strict=True) if seconds >= SHARE * sum(times)]
    if not counted:
        return Coverage("inside", 0.0, op.kind)
    answers = [_by_curve(op, kernel, curve, model) for kernel, curve in counted]
    return max(answers, key=lambda answer: (PLACES.index(answer.place), answer.distance))


def _by_curve(op: Op, kernel: Kernel, curve: Curve, model: Measured) -> Coverage:
    if kernel.curve in model.curves:
        distance = 0.0 if _smallest(kernel, curve, model.cache_bytes) else beyond(kernel, curve)
        return Coverage(place(distance), distance, kernel.curve)
    if op.kind != "fused" and category(op.kind) == "elementwise" and kernel.curve == op.kind:
        distance = beyond(kernel, curve)
        return _at_best_near(Coverage(place(distance), distance, kernel.curve))
    return Coverage("outside", math.inf, kernel.curve)


def _smallest(kernel: Kernel, curve: Curve, cache_bytes: float) -> bool:
    """Whether a kernel is below every sample and takes hardly more than the curve's floor: as small as kernels get, and never far off."""
    below = largest(points(kernel.data)) < curve.smallest
    return below and largest(points(curve.terms(kernel, cache_bytes)[2])) <= FLOOR * curve.floor


def beyond(kernel: Kernel, curve: Curve) -> float:
    """How far a kernel's bytes or its inner loop lie beyond those of the curve's samples, in length scales; a curve that doesn't say is
    just near."""
    if not curve.largest:
        return 0.0 if largest(points(kernel.data)) == 0 else NEAR
    over = math.log2(max(float(largest(points(kernel.data))), 1.0) / curve.largest)
    if curve.deepest:
        over = max(over, math.log2(max(float(largest(points(kernel.depth))), 1.0) / curve.deepest))
    under = math.log2(max(curve.smallest, 1.0) / max(float(smallest(points(kernel.data))), 1.0))
    return max(over, under, 0.0) / DOUBLINGS


def _at_best_near(found: Coverage) -> Coverage:
    return found if found.place != "inside" else Coverage("near", max(found.distance, NEAR), found.family)
