"""The words about how sure a time is, for the terminal, the report and the explorer alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.uncertainty import SAID

NAMED = 6  # operators that a sentence names
AT_LEAST = "≥"  # before a time from the datasheet: it does not compare with one that rests on measurements
BOUND = (
    f"{AT_LEAST}: a lower bound from the datasheet's peaks. Don't compare it with a measured machine's time: a run takes longer unless its"
    " tensors stay in a cache or its host launches faster than assumed"
)
ABOUT = "≈"  # before a time that rests on what other machines taught
TRANSFERRED = (
    f"{ABOUT}: transferred, that is, estimated from the machine's figures and constants fitted to other machines. Its range is how far off"
    " such estimates were on machines left out of the fit"
)
RESTS = {"bound": f"{AT_LEAST} ", "transferred": f"{ABOUT} ", "calibrated": ""}
LIKE_WITH_LIKE = {
    "transferred": "Only some of these machines were measured. To compare like with like, all are predicted here as if none had been"
    " (transferred).",
    "bound": "These machines' times rest on different grounds. To compare like with like, all are computed here from their datasheets.",
}
LIKELY = "likely: four runs out of five should fall in this range"
Form = Callable[[float, str], str]


def time(p: Prediction, form: Form) -> str:
    """`1.2 ms`; `≈ 1.2 ms` where it is transferred, `≥ 1.2 ms` for a bound."""
    return f"{RESTS[p.basis]}{form(float(p.seconds), 's')}"


def marks(predictions: Iterable[Prediction]) -> list[str]:
    """What the marks before these times mean."""
    seen = {p.basis for p in predictions}
    return [words for basis, words in (("transferred", TRANSFERRED), ("bound", BOUND)) if basis in seen]


def between(interval: tuple[Any, Any], form: Form, dash: str = " – ") -> str:
    """`1.1 ms – 1.3 ms`; `over 1.1 ms` where the upper end is open."""
    low, high = (float(end) for end in interval)
    first = form(low, "s")
    if math.isinf(high):
        return f"over {first}"
    return first if first == form(high, "s") else f"{first}{dash}{form(high, 's')}"


def caveats(p: Prediction, percent: Callable[[float], str]) -> list[str]:
    """Warnings beside a calibrated time: how much of it lies outside what was measured, and which operators are unknown."""
    if not p.calibrated:
        return []
    said = []
    if p.beyond > SAID:
        said.append(f"{percent(p.beyond)} of this time lies outside what was measured: {listed(name for name, _ in p.outside)}")
    unknown = dict.fromkeys(row.origin for row in p.ops if row.place == "unknown" and float(row.seconds) > 0)
    if unknown:
        said.append(f"unknown operators make this time a lower bound: {listed(unknown)}")
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
