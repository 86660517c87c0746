"""Where the time of a prediction goes, in one sentence."""

from __future__ import annotations

from collections import Counter

from ironlaw.engine.device.dispatch import beside
from ironlaw.engine.device.host_links import waiting
from ironlaw.engine.device.prediction import OpRow, Prediction
from ironlaw.engine.device.work import COLLECTIVE, category
from ironlaw.units import show

NAMES = {
    "contraction": "matrix products", "attention": "attention", "elementwise": "element-wise operators", "rowwise": "norms and softmax",
    "reduction": "sums and means", "movement": "copies", "lookup": "look-ups and sorting", "window": "pooling",
}  # fmt: skip
CONVOLUTIONS = ("conv2d", "conv_transpose2d", "conv_backward")
WAITS, DECIDES = 0.1, 0.5  # shares of the time from which waiting is worth a word, and is what decides
WORTH, MOST = 0.01, 3  # share of the time from which a line of code is named, and how many are
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
    """`The GPU is idle for 74% of each call, because launching 84 kernels is the bottleneck. A call takes …`: who decides comes first."""
    seconds, busy = float(p.seconds), float(p.busy_s)
    device = "GPU" if p.hardware.kind == "gpu" else "device"
    call = f"{show(seconds, 's')} on {p.hardware.name}, {p.plan.mode}"
    waits, kernels = max(0.0, 1.0 - busy / seconds), f"{float(p.kernels):,.0f} kernel{'' if p.kernels == 1 else 's'}"
    work = f"{_work(p, busy)}.{_waits(p)}"
    if waits > DECIDES:
        why = f"because launching {kernels} is the bottleneck"
        return f"The {device} is idle for {waits:.0%} of each call, {why}. A call takes {call}. {work}"
    if waits < WAITS:
        return f"The {device} is busy throughout a call of {call}. {work}"
    return f"The {device} is busy for {1 - waits:.0%} of a call of {call}; for the rest it waits for the host to launch {kernels}. {work}"


def _waits(p: Prediction) -> str:
    """The lines of code that make the host wait, where that takes time."""
    lines = [pair for pair in waiting([row.op for row in p.ops], p.run) if pair[1] > WORTH][:MOST]
    wires = beside(p.run)
    sentence = f" The wires between the GPUs take {show(wires[0], 's')}, and {wires[1] / float(p.seconds):.0%} of the call waits for them."
    return (sentence if wires[0] else "") + "".join(
        f" {line} makes the host wait for the GPU, for {share:.0%} of the call." for line, share in lines
    )


def _work(p: Prediction, busy: float) -> str:
    times: Counter[str] = Counter()
    moving: Counter[str] = Counter()
    for row in p.ops:
        if COLLECTIVE in row.op.attrs:  # on the wires, not on the device
            continue
        name, seconds = family(row), float(row.seconds)
        times[name] += seconds  # type: ignore[assignment]
        moving[name] += seconds if row.regime == "memory" else 0.0  # type: ignore[assignment]
    (name, most), *_ = times.most_common(1)
    bound = BINDS["memory" if moving[name] > most / 2 else "compute"]
    return f"{most / busy:.0%} of its work is {name}, limited by {bound}"
