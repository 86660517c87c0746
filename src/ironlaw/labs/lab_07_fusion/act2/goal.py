"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_07_fusion.act2.payback import COMPILE, Case
from ironlaw.labs.lab_07_fusion.act2.payback_panel import LIMITS, Setting
from ironlaw.systems.limits import warn
from ironlaw.units import significant

WITHIN = 7.0  # days: the story's, until compiling has paid for itself


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return settings.read(Setting, values).case(lab.current_context)


def _late(case: Case) -> dict[str, object]:
    return {"day": _days(case.breakeven_days), "within": _days(WITHIN)}


def _days(number: float) -> str:
    return f"{significant(number)} days"


PAYS, FAILS = LIMITS[0], LIMITS[3]
EAGER = warn("eager", "Nothing is compiled", lambda case: case.decision != COMPILE)
LATE = warn("late", "It pays for itself, but late", lambda case: case.breakeven_days > WITHIN, _late)
GOAL = kit.Goal(
    _case,
    (EAGER, replace(FAILS, hit=lambda case: not case.pays), LATE, PAYS),
    ("compile", "gain", "volume", "span", "decision"),
    panel="roi",
)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"within": _days(WITHIN)}
