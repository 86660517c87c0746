"""The figures between which an answer lies: from how sure steps and the engine's own time are, and from how many requests were simulated.

The same deployment is simulated with steps as short and as long as their interval says. How far its figures move is joined with what chance
leaves open in the run itself, as roots of sums of squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.run_spread import Between
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import SAMPLE, meets, policies, trial
from ironlaw.systems.serving.search.largest_rate import headroom
from ironlaw.systems.serving.search.rig import at_end
from ironlaw.systems.serving.search.safe import safe, with_replicas

TIMES = ("ttft", "tbt", "tpot")
ROUGH, STEP = 1.15, 1.2  # of the rates at both ends: how near, and the first step from the largest rate


def doubts(asked: Demand, choice: Choice, room: float | None) -> tuple[dict[str, Sequence[float | None]], Choice | None]:
    """[low, high] of each time in the SLO's percentile, of tokens per second, of devices and of the largest rate; None: beyond what was
    tried. And the deployment to bet on. `room`: times the asked rate that it takes, at which a fleet's figures are."""
    share, out = asked.promise.share, choice.answer.outcome
    quick, slow = (replace(choice, deployment=at_end(asked, choice.deployment, side)) for side in (0, 1))
    factor = room if asked.fleet and room else 1.0
    ends = trial(asked, quick, factor, whole=True), trial(asked, slow, factor, whole=True)
    enough = None if asked.fleet else not asked.promise.broken(ends[1])
    sure = safe(asked, choice, slow, enough)
    found: dict[str, Sequence[float | None]] = {}
    for name in TIMES:
        values = [getattr(end, name)(share) for end in ends]
        found[name] = list(_joined(getattr(out, name)(share), (values[0], values[1]), _chance(out, name, share)))
    sampled = (choice.answer.replicas > SAMPLE and not choice.prompts) or factor != 1.0
    run = trial(asked, choice, factor, whole=True) if sampled else out  # of the same sample of replicas, with steps as predicted
    usual = max(1e-9, run.tokens_per_s)
    whole = choice.answer.tokens_per_s
    rates = [whole, *(whole * end.tokens_per_s / usual for end in ends)]
    found["tokens_per_s"] = [min(rates), max(rates)]
    if asked.fleet:
        found["devices"] = [float(choice.devices)] * 2
    else:
        found["devices"] = [_fewer(asked, quick), float(sure.devices) if sure else None]
    if room is not None:
        high = headroom(asked, quick, room or 1.0, ROUGH, STEP, known=room)
        found["largest_rate"] = [_least_rate(asked, slow, sure, room or 1.0, enough), max(high, room)]
    return found, sure


def _chance(out: Outcome, name: str, share: float) -> Between:
    if name == "tpot":
        value = out.tpot(share)
        return value, value
    low, high = getattr(out, f"{name}_between")(share)
    return float(low), float(high)


def _joined(value: float, steps: Between, chance: Between) -> Between:
    """Both ends of two ranges around a value, as independent doubts."""
    if value <= 0:
        return min(steps[0], value), max(steps[1], value)
    low = math.hypot(*(min(0.0, math.log(max(end, 1e-3 * value) / value)) for end in (steps[0], chance[0])))
    high = math.hypot(*(max(0.0, math.log(max(end, 1e-3 * value) / value)) for end in (steps[1], chance[1])))
    return value * math.exp(-low), value * math.exp(high)


def _fewer(asked: Demand, choice: Choice) -> float:
    """Devices that do where steps are as short as they may be."""
    least = 2 if choice.prompts else 1
    low, high = least - 1, choice.answer.replicas
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(asked, with_replicas(choice, middle)) else (middle, high)
    return float(high * choice.deployment.devices)


def _least_rate(asked: Demand, slow: Choice, sure: Choice | None, room: float, enough: bool | None) -> float:
    """Times the asked rate that it takes where steps are as long as they may be, with as many tokens per step as chosen, or as one would
    choose then. `enough`: whether it takes the rate itself as chosen, where it is known."""
    ways = [slow, *(replace(slow, policy=policy) for policy in policies(asked, slow.deployment) if policy != slow.policy)]
    rate = 0.0
    for way in [sure] if sure is not None and sure.devices == slow.devices else ways:
        if rate < room:
            known, too_much = (1.0, math.inf) if way is slow and enough else (-1.0, 1.0 if way is slow and enough is False else math.inf)
            rate = max(rate, headroom(asked, way, room, ROUGH, STEP, rate, known, too_much))
    return min(rate, room)
