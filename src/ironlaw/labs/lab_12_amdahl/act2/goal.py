"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_12_amdahl.act2.instrument import given, story
from ironlaw.labs.lab_12_amdahl.act2.job import EFFICIENT, Job
from ironlaw.labs.lab_12_amdahl.act2.verdict import LIMITS, money


def _job(lab: kit.Lab, values: Mapping[str, Any]) -> Job:
    return settings.read(Job, values, story=story(lab))


def _most(lab: kit.Lab) -> float:
    """What a result in time may cost."""
    told = story(lab)
    return given(lab, "price") * told.hours + told.worth


GOAL = kit.Goal(_job, LIMITS, ("workers", "weeks"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"target": kit.times(given(lab, "target")), "most": money(_most(lab)), "busy": kit.amount(100 * EFFICIENT, "%")}
