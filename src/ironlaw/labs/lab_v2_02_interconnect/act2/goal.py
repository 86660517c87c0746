"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import Case, box_for, case_of
from ironlaw.labs.lab_v2_02_interconnect.act2.verdict import ALL_MOST, LIMITS


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return case_of(box_for(lab), values)


GOAL = kit.Goal(_case, LIMITS, ("tensor", "zero", "nics", "micro", "overlap"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"most": kit.amount(100 * ALL_MOST, "%")}
