"""Act II as it happens: one replica of the last layer through the spike, with the retries that the dials allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_12_slo.act2.plan import plan_of
from ironlaw.pictures.moving.retry_loop import retry_loop
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    plan = plan_of(values)
    return [retry_loop(plan.course.points, plan.storm)]
