"""One replica of a demand's model on a machine, as a layout says, with the engine's own time; and the same at an end of its doubt."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.layout import Layout
from ironlaw.systems.serving.deployments import TYPICAL, Deployment, deployment
from ironlaw.systems.serving.search.demand import Demand
from ironlaw.systems.serving.search.fewest import BUDGETS


def rig_of(asked: Demand, machine: Hardware, layout: Layout) -> Deployment:
    """One replica of a layout; asked for again, it is the same one, with the steps that were predicted for it."""
    if (machine.slug, layout) not in asked.rigs:
        asked.rigs[machine.slug, layout] = _rig(asked, machine, layout)
    return asked.rigs[machine.slug, layout]


def _rig(asked: Demand, machine: Hardware, layout: Layout) -> Deployment:
    own = asked.own_time(machine)
    made = deployment(
        asked.decoder, machine, layout=layout, weights=asked.weights or "", cache=asked.cache or "", budget=asked.budget or BUDGETS[3],
        memory=asked.share_of_memory, overhead=asked.overhead + own.step, draft=asked.proposer, products=asked.arithmetic or "",
        tokens=round(asked.about["prompt"] + asked.about["output"]), ungrouped=own.reads_per_head(machine.slug), of_free=own.free_memory,
    )  # fmt: skip
    factor = asked.steps_factor(machine)
    made = replace(made, front=own.front)
    return made if factor == 1.0 else made.slower(factor)


def at_end(asked: Demand, rig: Deployment, side: int) -> Deployment:
    """Steps and the engine's own time as short (0) or as long (1) as they may be; both doubts are independent."""
    own = asked.own_time(rig.hardware)
    usual = rig.part.seconds(TYPICAL, TYPICAL * (rig.tokens or 1) / 2)
    engine = (1 + own.spread) ** (2 * side - 1)
    steps, added = math.log(rig.doubt[side]), math.log1p(own.step / usual * (engine - 1))
    factor = math.exp((2 * side - 1) * math.hypot(steps, added))
    made = rig.slower(rig.part.factor * factor)
    return replace(made, front=own.times(engine).front) if own.front else made
