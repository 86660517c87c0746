"""Where the time of a prediction goes, in one sentence."""

from __future__ import annotations

from collections import Counter

from ironlaw.engine.device.prediction import OpRow, Prediction
from ironlaw.engine.device.work import category
from ironlaw.units import show

NAMES = {
    "contraction": "matrix products", "attention": "attention", "elementwise": "element-wise operators", "rowwise": "norms and softmax",
    "reduction": "sums and means", "movement": "copies", "lookup": "look-ups", "window": "pooling",
}  # fmt: skip
CONVOLUTIONS = ("conv2d", "conv_transpose2d", "conv_backward")
WAITS = 0.1  # share of the time from which waiting is worth a word
BINDS = {"memory": "moving data", "compute": "arithmetic"}


def family(row: OpRow) -> str:
    """What people call this sort of work; a fused kernel is that of the product in it."""
    parts = row.op.attrs.get("parts", (row.op,))
    heavy = [part for part in parts if category(part.kind) in ("contraction", "attention")]
    if len(parts) > 1 and not heavy:
        return "fused kernels"
    one = (heavy or parts)[0]
    return "convolutions" if one.kind in CONVOLUTIONS else NAMES.get(category(one.kind), "other operators")


def finding(p: Prediction) -> str:
    """`A call takes 6.93 ms on h200_sxm, eager: for 79 % of it the device waits for the host, which launches 349 kernels; …`."""
    seconds, busy = float(p.seconds), float(p.busy_s)
    said = f"A call takes {show(seconds, 's')} on {p.hardware.name}, {p.plan.mode}: "
    waits = max(0.0, 1.0 - busy / seconds)
    work = _work(p, busy)
    if waits < WAITS:
        return f"{said}{work}; the device is busy throughout."
    waiting = f"for {100 * waits:.0f} % of it the device waits for the host, which launches {float(p.kernels):,.0f} kernels"
    return f"{said}{waiting}; {work}." if waits > 0.5 else f"{said}{work}; {waiting}."


def _work(p: Prediction, busy: float) -> str:
    times: Counter[str] = Counter()
    moving: Counter[str] = Counter()
    for row in p.ops:
        name, seconds = family(row), float(row.seconds)
        times[name] += seconds  # type: ignore[assignment]
        moving[name] += seconds if row.regime == "memory" else 0.0  # type: ignore[assignment]
    (name, most), *_ = times.most_common(1)
    bound = BINDS["memory" if moving[name] > most / 2 else "compute"]
    return f"{100 * most / busy:.0f} % of the device's work is {name}, bound by {bound}"
