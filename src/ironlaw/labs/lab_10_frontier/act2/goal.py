"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_10_frontier.act2.banners import LIMITS
from ironlaw.labs.lab_10_frontier.act2.case import DigitCase, LlamaCase, case_of


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> LlamaCase | DigitCase:
    return case_of(lab.current_context.hardware, values)


GOAL = kit.Goal(_case, LIMITS, ("row", "context", "kernel", "net", "bits", "scale", "share", "zeros", "product"))
