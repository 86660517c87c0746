"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import Case, case_of
from ironlaw.labs.lab_v2_05_parallelism.act2.verdict import BUBBLE_MOST, LIMITS, NEAR, NICS_MOST
from ironlaw.labs.lab_v2_05_parallelism.box_of_context import box_of
from ironlaw.units import percent


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return case_of(box_of(lab), values)


GOAL = kit.Goal(_case, LIMITS, ("pipeline", "virtual", "tensor", "context", "zero", "recompute", "micro", "overlap", "nics"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"bubble": percent(BUBBLE_MOST), "nics": percent(NICS_MOST), "near": percent(NEAR - 1)}
