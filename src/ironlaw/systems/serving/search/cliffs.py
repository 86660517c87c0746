"""Where an SLO takes many times the devices that the work does, and at which limit that ends."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import best_policy
from ironlaw.systems.serving.search.pareto import most_tokens

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import CliffJson

STEEP = 2.0  # times the devices that the work takes
LOOSER = (1.25, 1.5, 2.0, 3.0)  # of a limit that is tried
FAR_FEWER = 0.7  # of the devices: so few with a looser limit are worth saying


def cliff(asked: Demand, choice: Choice) -> CliffJson | None:
    """None where the work takes most of the devices, or the cache or nothing keeps fewer from doing."""
    limits = [name for name in choice.answer.binds.split(" and ") if name in ("ttft", "tbt", "tpot")]
    rate, count = asked.about["rate"], choice.answer.replicas
    if not limits or not rate or count < STEEP:
        return None
    work = max(1, math.ceil(rate * asked.about["output"] / max(1e-9, most_tokens(asked, choice.deployment))))
    if count < STEEP * work:
        return None
    each = choice.deployment.devices
    few = int(FAR_FEWER * count)
    for name in limits:
        now = getattr(asked.promise, name)
        for factor in LOOSER if few else ():
            other = best_policy(replace(asked, **{name: now * factor}), choice.deployment, few)
            if other is not None:
                return {"work_devices": work * each, "limit": name, "at_s": now * factor, "devices": other.devices}
    return {"work_devices": work * each, "limit": limits[0], "at_s": None, "devices": None}
