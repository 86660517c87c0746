"""An op as measured rows see it (`shared_errors.Trait`): what its predicted time is made of, and where it lies among its like."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ironlaw.backends.kernel import Kernel
from ironlaw.backends.signatures import Signature
from ironlaw.calibration.kernel_laws import GENERATED, law
from ironlaw.calibration.shared_errors import Trait
from ironlaw.engine.arrays import is_array
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work import UNCOMPILED

UNSURE = 1.0  # sd of an op of which nothing is known
FLOPS_A_BYTE = 100.0  # at which either counts alike


def trait(op: Op, cost: Cost, kernels: Sequence[Kernel], signature: Signature | None) -> Trait:
    """The traits of an op whose sizes are plain numbers. The curve is that of the kernel that moves or computes most."""
    leading = max(kernels, key=lambda k: float(k.count) * (float(k.data) + float(k.flops) / FLOPS_A_BYTE), default=None)
    curve = leading.curve if leading else op.kind
    sd = cost.doubt.sd if cost.doubt is not None and cost.doubt.known else UNSURE
    family, place = (signature.family, signature.place) if signature else (f"{curve} curve", _sizes(leading))
    which = f"{curve} {known}" if (known := identity(op)) else ""
    followed, carried = law(curve, op.dtype)
    if carried and curve not in GENERATED:  # how far a law is off where it was fitted says less of kernels that it only scales
        followed += " carried"
    return Trait(shares(cost), followed, curve, family, tuple(float(v) for v in place), min(float(sd), UNSURE), which)


def identity(op: Op) -> str:
    """The same for ops that are alike in all that their time depends on, whatever they are called; nothing for several
    in one, nor where sizes are swept."""
    tensors = [(t.dtype, t.role == "weight", t.shape) for t in (*op.inputs, *op.outputs)]
    if "parts" in op.attrs or any(is_array(*shape) for _, _, shape in tensors):
        return ""
    attrs = sorted((name, repr(value)) for name, value in op.attrs.items() if name != UNCOMPILED)
    return repr((op.kind, op.dtype, tensors, attrs))


def shares(cost: Cost) -> tuple[float, float, float]:
    """The shares of the time: fixed cost, data, arithmetic; where the last two overlap, the longer one has more of it."""
    floor, data, compute = float(cost.floor), float(cost.data), float(cost.compute)
    whole = max(floor + float(cost.work), 1e-30)
    moved = data * data / (data * data + compute * compute) if data or compute else 1.0
    return floor / whole, moved * (1.0 - floor / whole), (1.0 - moved) * (1.0 - floor / whole)


def _sizes(kernel: Kernel | None) -> tuple[float, ...]:
    return tuple(math.log2(max(float(v), 1.0)) for v in (kernel.data, kernel.flops, kernel.rows, kernel.depth)) if kernel else (0.0,) * 4
