"""The largest rate at which a deployment still meets the SLO: its own requests, closer together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ironlaw.engine.serving.llm.promise import Answer
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import ALL, SAMPLE, meets, trial
from ironlaw.systems.serving.search.pareto import most_tokens

NEAR = 1.04  # of two rates between which the largest lies
FARTHEST = 64.0  # times the rate that was asked for, unless the work allows more; and as many times less
WORK = 1.5  # times what a replica makes in a steady state: beyond, it can't keep up
LEAP = 4.0  # the longest step from one rate to the next


def headroom(
    asked: Demand, choice: Choice, begin: float = 1.0, near: float = NEAR, step: float = 2.0, least: float = 0.0, known: float = -1.0,
    too_much: float = math.inf,
) -> float:  # fmt: skip
    """How many times the rate it takes; below 1 where it does not take that. 0 where even a 64th is too much, or `least` is. `known`: times
    that it takes, as was seen before; `too_much`: times that it does not.

    From `begin` on in growing steps, then by halving until two rates are so `near`.
    """
    limit = by_work(asked, choice)
    farthest = FARTHEST if limit == math.inf else max(FARTHEST, limit)

    def holds(factor: float) -> bool:
        """More than the work allows is not simulated."""
        if factor <= known or factor >= too_much:
            return factor <= known
        return factor <= (limit if asked.fleet else max(limit, 1.0)) and meets(asked, choice, factor)

    if least and not holds(least):
        return 0.0
    low, high = (least, math.inf) if least else _around(holds, min(begin, farthest), step)
    while low and high == math.inf and low < farthest:
        further = min(low * step, farthest)
        low, high = (further, high) if holds(further) else (low, further)
        step = min(step * step, LEAP)
    while low and high < math.inf and high / low > near:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def largest(asked: Demand, choice: Choice) -> float:
    """`headroom`, and as much less as all replicas take where a few that stood for them were lucky."""
    room = headroom(asked, choice, by_work(asked, choice) / 2 if asked.fleet else 1.0, known=seen(asked, choice))
    known = 0.0 if asked.fleet else 1.0  # the answer was found with all replicas
    while room > known and choice.answer.replicas > SAMPLE and not meets(asked, choice, room, ALL):
        room = max(room / NEAR, known)
    return room


def seen(asked: Demand, choice: Choice) -> float:
    """Times the rate that it takes for sure: those of the very run that the answer rests on."""
    return 1.0 if not asked.fleet and (choice.prompts or choice.answer.replicas <= SAMPLE) else -1.0


def _around(holds: Callable[[float], bool], begin: float, step: float) -> tuple[float, float]:
    """The first rate from `begin` downwards that holds, and one above it that does not; infinite where `begin` itself does."""
    low, high = begin, math.inf
    while not holds(low):
        low, high = low / step, low
        step = min(step * step, LEAP)
        if low < begin / FARTHEST:
            return 0.0, high
    return low, high


def by_work(asked: Demand, choice: Choice) -> float:
    """How many times the rate the work allows at most."""
    wanted = (asked.about["rate"] or 0.0) * asked.about["output"]
    return WORK * most_tokens(asked, choice.deployment) * choice.answer.replicas / wanted if wanted else math.inf


def at_rate(asked: Demand, choice: Choice, factor: float) -> Choice:
    """The same deployment at `factor` times the rate, and what keeps it from taking more."""
    binds = asked.promise.binds(trial(asked, choice, factor * NEAR)) or "work"
    return replace(choice, answer=Answer(choice.answer.replicas, trial(asked, choice, factor, ALL, whole=True), binds))
