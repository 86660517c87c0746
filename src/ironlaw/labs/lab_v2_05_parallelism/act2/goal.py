"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import Case, case_of
from ironlaw.labs.lab_v2_05_parallelism.act2.verdict import BUBBLE_MOST, LIMITS, NEAR, NICS_MOST
from ironlaw.labs.lab_v2_05_parallelism.box_of_context import box_of
from ironlaw.systems.limits import hit


def _case(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    return case_of(box_of(lab), values)


def _nearest(lab: kit.Lab, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The layout that takes the fewest turns, among those that the search knows; if none does, with every NIC and all overlap."""
    for ports in ({}, {"overlap": True, "nics": max(1, box_of(lab).nics)}):
        now = _case(lab, {**values, **ports})
        ways = [{name: getattr(each.layout, name) for name in SIZES} for each in now.ranking]
        for way in sorted(ways, key=lambda way: sum(way[name] != values[name] for name in SIZES)):
            if hit(LIMITS, _case(lab, {**values, **ports, **way})).tone == "good":
                return {**ports, **way}
    return None


SIZES = ("pipeline", "virtual", "tensor", "context", "zero", "recompute", "micro")
GOAL = kit.Goal(_case, LIMITS, (*SIZES, "overlap", "nics"), nearest=_nearest)


def task(lab: kit.Lab) -> dict[str, object]:
    return {
        "bubble": kit.amount(100 * BUBBLE_MOST, "%"),
        "nics": kit.amount(100 * NICS_MOST, "%"),
        "near": kit.amount(100 * (NEAR - 1), "%"),
    }
