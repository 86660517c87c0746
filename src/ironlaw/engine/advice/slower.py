"""Why a change makes a call slower, in a clause."""

from __future__ import annotations

from collections import Counter

from ironlaw.engine.advice.action import Action
from ironlaw.engine.advice.finding import family
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.work import COLLECTIVE
from ironlaw.units import show

MASKED = "while a graph is recorded, transformers spells out a mask that hides nothing, and no fused attention takes one"
MOST = 0.5  # of what is lost: the device's part, from which it is the reason


def why_slower(action: Action) -> str:
    """The device works longer, and on what; or the host has more to launch."""
    before, after = action.before, action.after
    scale = action.gain.after / float(after.seconds)  # a larger batch counts for each item
    if _spelled(after) > _spelled(before):
        return MASKED
    lost, device = -action.gain.saved, scale * float(after.busy_s) - float(before.busy_s)
    if device >= MOST * lost:
        now, then = _families(before, 1.0), _families(after, scale)
        name = max({**now, **then}, key=lambda one: then[one] - now[one])
        return f"the device spends {show(then[name], 's')} on {name} instead of {show(now[name], 's') if now[name] else 'none'}"
    entries = after.graph.settings.get("entries", 1)
    if after.plan.mode == "compiled" and before.plan.mode == "eager" and float(after.kernels) <= float(before.kernels):
        times = "once" if entries == 1 else f"{entries} times"
        return f"entering compiled code, {times} in each call, takes the host longer than the launches that it saves"
    kernels = [f"{float(p.kernels) * part:,.0f}" for p, part in ((after, scale), (before, 1.0))]
    if kernels[0] != kernels[1]:
        return f"the host launches {kernels[0]} kernels instead of {kernels[1]}, and the device waits for it"
    return "each launch takes the host longer, and the device waits for it"


def _spelled(p: Prediction) -> int:
    return sum(row.kind == "attention" and row.op.attrs.get("path") == "math" for row in p.ops)


def _families(p: Prediction, scale: float) -> Counter[str]:
    times: Counter[str] = Counter()
    for row in p.ops:
        if COLLECTIVE not in row.op.attrs:
            times[family(row)] += scale * float(row.seconds)  # type: ignore[assignment]
    return times
