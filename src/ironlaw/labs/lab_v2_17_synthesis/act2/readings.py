"""Readouts and limits of a system in words: one unit a constraint."""

from __future__ import annotations

import math

from ironlaw.pictures.margins import Margin
from ironlaw.systems.whole import LIMITS, Report, margins
from ironlaw.units import percent, show, show_between, significant

NAMES = {
    "memory": "Memory", "days": "Days to train", "goodput": "Goodput", "drain": "File system busy", "ports": "Switch ports per GPU",
    "ttft": "First token", "tbt": "Between tokens", "availability": "Availability", "hours": "GPU-hours", "energy": "Energy",
    "carbon": "Carbon", "epsilon": "Privacy",
}  # fmt: skip


def in_a_sentence(name: str) -> str:
    own = NAMES[name]
    return own if own[1].isupper() else own[0].lower() + own[1:]


def reading(name: str, value: float) -> str:
    if math.isinf(value):
        return {"epsilon": "no guarantee", "days": "never"}.get(name, "doesn't fit" if name in ("memory", "ttft", "tbt") else "unbounded")
    if name in ("memory", "goodput", "drain"):
        return percent(value)
    if name == "availability":
        return percent(value, 5)
    if name == "days":
        return f"{significant(value)} days"
    if name == "ports":
        return significant(value)
    if name in ("ttft", "tbt"):
        return show(value, "s")
    if name == "hours":
        return f"{significant(value / 1e6)} million h"
    if name == "energy":
        return f"{significant(value / 3.6e12)} GWh"
    if name == "carbon":
        return f"{significant(value / 1e6, 4)} t"
    return f"ε = {significant(value)}"


def read(report: Report, name: str) -> str:
    """The value as a report states it; a simulated time has as many digits as its run is sure of."""
    value, between = report.values[name], report.between.get(name)
    return show_between(value, *between, "s") if between and math.isfinite(value) else reading(name, value)


def limit(name: str) -> str:
    return reading(name, LIMITS[name].value)


def rows(report: Report) -> list[Margin]:
    return [Margin(NAMES[name], room, read(report, name), limit(name)) for name, room in margins(report).items()]
