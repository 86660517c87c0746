"""The constraints of a system: what each readout may be at most, or must be at least, and how much room is left."""

from __future__ import annotations

import math

from ironlaw.engine.energy import KWH
from ironlaw.engine.levers import LEAST, MOST, Limit
from ironlaw.systems.whole.report import TBT, TTFT, Report

LIMITS = {
    limit.readout: limit
    for limit in (
        Limit("memory", MOST, 1.0),
        Limit("days", MOST, 60.0),
        Limit("goodput", LEAST, 0.90),
        Limit("drain", MOST, 1.0),
        Limit("ports", MOST, 3.5),
        Limit("ttft", MOST, TTFT),
        Limit("tbt", MOST, TBT),
        Limit("availability", LEAST, 0.9995),
        Limit("hours", MOST, 6.0e6),
        Limit("energy", MOST, 4.9e6 * KWH),
        Limit("carbon", MOST, 1.9e9),
        Limit("epsilon", MOST, 3.0),
    )
}


def margins(report: Report) -> dict[str, float]:
    """The room of each constraint, as a share of its limit: below 0 it is broken.

    Where a share must be at least so much the distance to 1 counts: availability of 0.999 where 0.9995 is asked for is twice the downtime.
    """
    return {name: margin(limit, report.values[name]) for name, limit in LIMITS.items()}


def margin(limit: Limit, value: float) -> float:
    if limit.kind == LEAST:
        return (value - limit.value) / (1.0 - limit.value)
    return limit.margin(value) if math.isfinite(value) else -math.inf


def broken(report: Report) -> tuple[str, ...]:
    return tuple(name for name, room in margins(report).items() if room < 0)
