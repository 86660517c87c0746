"""The design challenge: the story's target, at the least cost, with two levers: workers and weeks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_12_amdahl.act2.instrument import STATED, dials, given, story
from ironlaw.labs.lab_12_amdahl.act2.job import MOST, Job, Story, cheapest
from ironlaw.labs.lab_12_amdahl.act2.verdict import money
from ironlaw.units import counted
from ironlaw.widget.dials import settle

NEAR = 1.1  # a design this close to the cheapest counts
WEEKS = 8


@cache
def _best(tale: Story, **stated: float) -> Job:
    return cheapest(Job(story=tale, workers=2, **stated), WEEKS, MOST)  # type: ignore[arg-type]


def best(lab: kit.Lab) -> Job:
    """The cheapest design for the story's own figures."""
    return _best(story(lab), **{name: given(lab, name) for name in STATED})


def design_of(lab: kit.Lab, values: Mapping[str, Any]) -> Job:
    """Workers and weeks of the dials, or of a committed design; everything else as the story has it."""
    stand, _ = settle(dials(lab)({}), values)
    return replace(best(lab), workers=round(stand["workers"]), weeks=round(stand["weeks"]))


def judge(lab: kit.Lab, values: Mapping[str, Any]) -> kit.Verdict:
    design, least = design_of(lab, values), best(lab)
    slots: dict[str, object] = {
        "workers": counted(design.workers, "worker"), "weeks": counted(design.weeks, "week"),
        "speedup": kit.times(design.speedup), "cost": money(design.cost)
    }  # fmt: skip
    if not design.reaches:
        return kit.Verdict(False, lab.fill("act2.judged_short", **slots, target=kit.times(design.target)))
    if design.cost > NEAR * least.cost:
        return kit.Verdict(False, lab.fill("act2.judged_dear", **slots, more=money(design.cost - least.cost)))
    last = {"best_workers": counted(least.workers, "worker"), "best_weeks": counted(least.weeks, "week"), "best_cost": money(least.cost)}
    return kit.Verdict(True, lab.fill("act2.judged_met", **slots, **last, all_workers=money(replace(design, weeks=0).cost)))
