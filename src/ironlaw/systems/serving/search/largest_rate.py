"""The largest rate at which a deployment still meets the SLO: its own requests, closer together."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw.engine.serving.llm.promise import Answer
from ironlaw.systems.serving.search.demand import Choice, Demand
from ironlaw.systems.serving.search.fewest import trial
from ironlaw.systems.serving.search.pareto import most_tokens

NEAR = 1.04  # of two rates between which the largest lies
MOST = 64.0  # times the rate that was asked for
WORK = 1.5  # times what a replica makes in a steady state: beyond, it can't keep up


def headroom(asked: Demand, choice: Choice, begin: float = 1.0, near: float = NEAR) -> float:
    """How many times the rate it takes; below 1 where it does not take that. 0 where even a 64th is too much."""
    wanted = (asked.about["rate"] or 0.0) * asked.about["output"]
    limit = WORK * most_tokens(asked, choice.deployment) * choice.answer.replicas / wanted if wanted else math.inf

    def holds(factor: float) -> bool:
        """More than the work allows is not simulated."""
        return factor <= max(limit, 1.0) and not asked.promise.broken(trial(asked, choice, factor))

    low, high = 1 / MOST, MOST
    factor, step = begin, 2.0
    if holds(factor):
        low = factor
        while low < MOST:
            if not holds(low * step):
                high = low * step
                break
            low *= step
    else:
        high = factor
        while high > 1 / MOST:
            if holds(high / step):
                low = high / step
                break
            high /= step
        else:
            return 0.0
    while high / low > near:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def at_rate(asked: Demand, choice: Choice, factor: float) -> Choice:
    """The same deployment at `factor` times the rate, and what keeps it from taking more."""
    binds = asked.promise.binds(trial(asked, choice, factor * NEAR)) or "work"
    return replace(choice, answer=Answer(choice.answer.replicas, trial(asked, choice, factor, sample=False), binds))
