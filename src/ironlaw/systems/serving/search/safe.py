"""The deployment to bet on: the fewest devices of a machine that meet the SLO even where steps take as long as they may."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import best_policy, meets, too_slow
from ironlaw.systems.serving.search.layouts import layouts
from ironlaw.systems.serving.search.rig import at_end, rig_of

WIDER = 1.25  # replicas beyond the answer that are tried, from one trial to the next
TWICE, FOUR = 2, 4  # times the answer's devices that are tried: of the same replicas, and of others


def safe(asked: Demand, choice: Choice, slow: Choice, enough: bool | None = None) -> Choice | None:
    """More of the same replicas, or smaller steps or more devices per replica where fewer devices of those do. None where not four times as
    many devices do. `slow`: the choice with its steps as long as they may be; `enough`: whether that meets the SLO, where it is known."""
    if choice.deployment.basis == "bound":
        return None
    best = slow if enough else _more(asked, slow, enough is not None)
    if asked.fleet or (best and best.devices == choice.devices):
        return best
    limit = max(FOUR, FOUR * choice.devices)
    for layout in layouts(asked, choice.deployment.hardware):
        if layout.devices < choice.deployment.devices or (best and layout.devices >= best.devices):
            continue
        same_layout = layout == choice.deployment.layout
        rig = slow.deployment if same_layout else at_end(asked, rig_of(asked, choice.deployment.hardware, layout), 1)
        most = ((best.devices - 1) if best else limit) // layout.devices
        if most and too_slow(asked, rig) is None:
            best = best_policy(asked, rig, most) or best
    return best


def with_replicas(choice: Choice, replicas: int) -> Choice:
    """The choice with another number of replicas, those for prompts in proportion."""
    prompts = max(1, round(choice.prompts * replicas / choice.answer.replicas)) if choice.prompts else 0
    return replace(choice, answer=replace(choice.answer, replicas=replicas), prompts=min(prompts, replicas - 1) if prompts else 0)


def _more(asked: Demand, slow: Choice, not_these: bool) -> Choice | None:
    count = slow.answer.replicas
    if not_these:
        count = max(count + 1, math.ceil(WIDER * count))
    while count <= max(FOUR, TWICE * slow.answer.replicas):
        more = with_replicas(slow, count)
        if meets(asked, more):
            return more
        count = max(count + 1, math.ceil(WIDER * count))
    return None
