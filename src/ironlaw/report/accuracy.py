"""The words about how sure a time is, for the terminal, the report and the explorer alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.engine.device.uncertainty import SAID
from ironlaw.engine.device.work import STAND_IN

NAMED = 6  # operators that a sentence names
AT_LEAST = "≥"  # before a time from the datasheet: it does not compare with one that rests on measurements
BOUND = (
    f"{AT_LEAST}: a bound from the datasheet's peaks, not to be compared with a measured machine's time; a run takes longer unless its"
    " tensors stay in a cache or its host launches faster than assumed"
)
LIKELY = "likely: where four measurements in five should fall"
Form = Callable[[float, str], str]


def time(p: Prediction, form: Form) -> str:
    """`1.2 ms`; `≥ 1.2 ms` for a bound."""
    return form(float(p.seconds), "s") if p.calibrated else f"{AT_LEAST} {form(float(p.seconds), 's')}"


def between(interval: tuple[Any, Any], form: Form, dash: str = " – ") -> str:
    """`1.1 ms – 1.3 ms`; `over 1.1 ms` where the upper end is open."""
    low, high = (float(end) for end in interval)
    first = form(low, "s")
    if math.isinf(high):
        return f"over {first}"
    return first if first == form(high, "s") else f"{first}{dash}{form(high, 's')}"


def operator(row: OpRow) -> str:
    """What a reader knows an op by: the op it was captured from, where another kind stands in for it."""
    parts = row.op.attrs.get("parts", (row.op,))
    return " + ".join(dict.fromkeys(str(part.attrs.get(STAND_IN) or part.kind) for part in parts))


def outside(p: Prediction) -> list[tuple[str, float]]:
    """The operators beyond what was measured, with their shares of the device time, the largest first."""
    seconds: dict[str, float] = {}
    for row in p.ops:
        if p.calibrated and row.place in ("outside", "unknown") and float(row.seconds) > 0:
            seconds[operator(row)] = seconds.get(operator(row), 0.0) + float(row.seconds)
    busy = float(p.busy_s)
    return sorted(((name, value / busy) for name, value in seconds.items()), key=lambda pair: -pair[1])


def caveats(p: Prediction, percent: Callable[[float], str]) -> list[str]:
    """What must be said beside a calibrated time: how much of it lies outside what was measured, and which operators are unknown."""
    if not p.calibrated:
        return []
    said = []
    if p.beyond > SAID:
        said.append(f"{percent(p.beyond)} of this time lies outside what was measured: {listed(name for name, _ in outside(p))}")
    unknown = dict.fromkeys(operator(row) for row in p.ops if row.place == "unknown" and float(row.seconds) > 0)
    if unknown:
        said.append(f"unknown, so that the time is a lower bound only: {listed(unknown)}")
    return said


def apart(p: Prediction, form: Form) -> str | None:
    """Device and host, each with its interval."""
    if p.intervals is None:
        return None
    device = f"device {form(float(p.busy_s), 's')} ({between(p.intervals.device, form)})"
    low, high = p.intervals.host
    sure = "" if low == high else f" ({between(p.intervals.host, form)})"
    return f"{device}, host {form(float(p.host_s), 's')}{sure}"


def listed(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = len(known) - NAMED
    return ", ".join(known[:NAMED]) + (f" and {more} more" if more > 0 else "")


def as_json(p: Prediction) -> dict[str, Any]:
    """How sure the time is. An open end, beyond which nothing is known, is null."""
    apart = p.intervals
    return {
        "interval": ends(p.interval), "device_interval": ends(apart.device if apart else None), "host_s": p.host_s,
        "host_interval": ends(apart.host if apart else None), "measured_shares": p.shares if p.calibrated else None,
        "outside": [{"operator": name, "share": share} for name, share in outside(p)],
    }  # fmt: skip


def ends(interval: tuple[Any, Any] | None) -> list[float | None] | None:
    return None if interval is None else [None if math.isinf(end) else float(end) for end in interval]
