"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE, Setting
from ironlaw.labs.lab_v2_10_kv_serving.act2.verdict import LIMITS
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import machine_of
from ironlaw.systems.serving.served_cases import ServedCase


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> ServedCase:
    return settings.read(Setting, values, machine=machine_of(lab), moving=bool(values.get("moving"))).case


GOAL = kit.Goal(_case, LIMITS, ("prompts", "budget", "scheduling", "devices"), ahead=True)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"ttft": kit.amount(PROMISE.ttft, "s"), "tbt": kit.amount(PROMISE.tbt, "s"), "share": kit.amount(100 * PROMISE.share, "%")}
