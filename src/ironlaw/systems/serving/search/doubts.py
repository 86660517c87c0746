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
from ironlaw.systems.serving.deployments import TYPICAL, Deployment
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import trial
from ironlaw.systems.serving.search.largest_rate import headroom

TIMES = ("ttft", "tbt", "tpot")
WIDER = 1.25  # devices beyond the answer that are tried where steps are long, from one trial to the next
ROUGH, STEP = 1.15, 1.2  # of the rates at both ends: how near, and the first step from the largest rate


def doubts(asked: Demand, choice: Choice, room: float | None) -> dict[str, Sequence[float | None]]:
    """[low, high] of each time in the SLO's percentile, of tokens per second, of devices and of the largest rate; None: beyond what was
    tried. `room`: times the asked rate that it takes, at which a fleet's figures are."""
    share, out = asked.promise.share, choice.answer.outcome
    quick, slow = (replace(choice, deployment=_at_end(asked, choice.deployment, side)) for side in (0, 1))
    factor = room if asked.fleet and room else 1.0
    ends = trial(asked, quick, factor, whole=True), trial(asked, slow, factor, whole=True)
    found: dict[str, Sequence[float | None]] = {}
    for name in TIMES:
        values = [getattr(end, name)(share) for end in ends]
        found[name] = list(_joined(getattr(out, name)(share), (values[0], values[1]), _chance(out, name, share)))
    usual = max(1e-9, trial(asked, choice, factor, whole=True).tokens_per_s)  # of the same sample of replicas, with steps as predicted
    whole = choice.answer.tokens_per_s
    rates = [whole, *(whole * end.tokens_per_s / usual for end in ends)]
    found["tokens_per_s"] = [min(rates), max(rates)]
    found["devices"] = [float(choice.devices)] * 2 if asked.fleet else [_fewer(asked, quick), _more(asked, slow)]
    if room is not None:
        low, high = (headroom(asked, one, room or 1.0, ROUGH, STEP) for one in (slow, quick))
        found["largest_rate"] = [min(low, room), max(high, room)]
    return found


def _at_end(asked: Demand, rig: Deployment, side: int) -> Deployment:
    """Steps and the engine's own time as short (0) or as long (1) as they may be; both doubts are independent."""
    own = asked.own_time(rig.hardware)
    usual = rig.part.seconds(TYPICAL, TYPICAL * (rig.tokens or 1) / 2)
    engine = (1 + own.spread) ** (2 * side - 1)
    steps, added = math.log(rig.doubt[side]), math.log1p(own.step / usual * (engine - 1))
    factor = math.exp((2 * side - 1) * math.hypot(steps, added))
    made = rig.slower(rig.part.factor * factor)
    return replace(made, front=own.times(engine).front) if own.front else made


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


def _with(choice: Choice, replicas: int) -> Choice:
    """The choice with another number of replicas, those for prompts in proportion."""
    prompts = max(1, round(choice.prompts * replicas / choice.answer.replicas)) if choice.prompts else 0
    return replace(choice, answer=replace(choice.answer, replicas=replicas), prompts=min(prompts, replicas - 1) if prompts else 0)


def _holds(asked: Demand, choice: Choice) -> bool:
    return not asked.promise.broken(trial(asked, choice))


def _fewer(asked: Demand, choice: Choice) -> float:
    """Devices that do where steps are as short as they may be."""
    least = 2 if choice.prompts else 1
    low, high = least - 1, choice.answer.replicas
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(asked, _with(choice, middle)) else (middle, high)
    return float(high * choice.deployment.devices)


def _more(asked: Demand, choice: Choice) -> float | None:
    """Devices that do where steps are as long as they may be; None where not twice as many do."""
    count = choice.answer.replicas
    while count <= max(4, 2 * choice.answer.replicas):
        if _holds(asked, _with(choice, count)):
            return float(count * choice.deployment.devices)
        count = max(count + 1, math.ceil(WIDER * count))
    return None
