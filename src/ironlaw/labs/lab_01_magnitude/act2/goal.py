"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.context import pick
from ironlaw.labs.lab_01_magnitude.act2.case import Case, premise
from ironlaw.labs.lab_01_magnitude.act2.instrument import LIMITS, NAMES
from ironlaw.labs.lab_01_magnitude.devices import CLOUD
from ironlaw.registry.workloads import about
from ironlaw.systems.limits import warn


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return settings.read(Case, values, hardware=pick(lab.contexts, values["device"]).hardware)


def _slowest(case: Case) -> dict[str, object]:
    longest = case.bottleneck
    return {
        "term": NAMES[longest].partition(",")[0].lower(), "longest": kit.amount(case.seconds[longest], "s"),
        "compute": kit.amount(case.seconds["compute"], "s"),
    }  # fmt: skip


OOM, *REST = LIMITS
WAITS = warn("waits", "The arithmetic still waits", lambda case: case.bottleneck != "compute", _slowest)
GOAL = kit.Goal(_case, (OOM, WAITS, *REST), ("batch", "dtype", "convention", "launch"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"model": about(premise(CLOUD).workload)["name"]}
