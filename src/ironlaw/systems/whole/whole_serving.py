"""The serving half of a system: the trace's requests, copies and retries on top, and what is up of it; and what fine-tuning gave away."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from ironlaw.engine.cluster.failures import mtbf
from ironlaw.engine.privacy.accountants import epsilon
from ironlaw.engine.serving.availability import replicated
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.run_spread import Between
from ironlaw.engine.serving.queues import Tail
from ironlaw.engine.serving.retries import attempts
from ironlaw.engine.serving.tails import hedged, quantile
from ironlaw.registry.machines import registered
from ironlaw.registry.runs import unit_between_failures
from ironlaw.systems.serving.kv_capacity import token_bytes
from ironlaw.systems.serving.served_cases import LONG, REQUESTS, ServedCase
from ironlaw.systems.whole.design import (
    COMMON,
    DELTA,
    EPOCHS,
    FAILING,
    LOAD,
    MACHINE,
    MODEL,
    RECORDS,
    REPAIR,
    RUN,
    TUNING_BATCH,
    Design,
    Faster,
)

SHARE = 0.99  # of the promise on times
FAR = 1.25  # so many times a limit is not an accident of a short run


@dataclass(frozen=True, slots=True)
class Served:
    """Seconds at P99, infinite where the model does not fit; times to first token, and gaps between tokens with the share up to each, both
    in order."""

    ttft: float
    tbt: float
    waits: tuple[float, ...] = ()
    gaps: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    delay: float = math.inf  # after which a copy is sent
    ttft_between: Between = (math.inf, math.inf)  # as far as the run can tell
    tbt_between: Between = (math.inf, math.inf)

    def late(self, t: float) -> float:
        """The share of requests that have no token after t seconds."""
        if not self.waits:
            return 1.0
        return _hedged(self.waits, self.delay)(t)

    def within(self, t: float) -> float:
        """The share of gaps between tokens of at most t seconds."""
        up_to = bisect_right(self.gaps, t)
        return self.shares[up_to - 1] if up_to else 0.0


def case(design: Design) -> ServedCase:
    """The replicas that carry the load, as Lab V2-10 serves them. A copy after a quantile, and retries, are load."""
    more = (1.0 + (1.0 - design.hedge)) * attempts(FAILING, design.retries)
    policy = Policy(most=min(design.most, design.budget), budget=design.budget)
    weights, cache = ("" if fmt == "bf16" else fmt for fmt in (design.weights, design.cache))
    return ServedCase(
        MODEL, MACHINE, design.group, design.replicas, rate=LOAD * more, weights=weights, cache=cache, policy=policy, count=LONG
    )


def served(design: Design) -> Served:
    return _served(case(design), design.hedge)


def hopeless(design: Design, ttft: float, tbt: float) -> bool:
    """Whether even a short run, whose lines have had no time to grow, is far over one of the limits. It takes a tenth of the time."""
    short = _served(replace(case(design), count=REQUESTS), design.hedge)
    return short.ttft > FAR * ttft or short.tbt > FAR * tbt


@lru_cache(maxsize=512)
def _served(one: ServedCase, hedge: float) -> Served:
    if one.rig is None:
        return Served(math.inf, math.inf)
    outcome: Outcome = one.outcome
    delay = outcome.ttft(hedge) if hedge < 1 else math.inf
    alone = outcome.ttft(SHARE)
    first = quantile(_hedged(outcome.waits, delay), SHARE) if hedge < 1 else alone
    low, high = (first / alone * each for each in outcome.ttft_between(SHARE))  # with copies, as unsure as without
    gaps = sorted(outcome.gaps)
    sums = list(accumulate(count for _, count in gaps))
    shares = tuple(each / sums[-1] for each in sums)
    return Served(
        first, outcome.tbt(SHARE), outcome.waits, tuple(gap for gap, _ in gaps), shares, delay, (low, high), outcome.tbt_between(SHARE)
    )


def _hedged(waits: tuple[float, ...], delay: float) -> Tail:
    def tail(t: float) -> float:
        return 1.0 - bisect_right(waits, t) / len(waits)

    return tail if math.isinf(delay) else hedged(tail, delay)


def held(design: Design) -> float:
    """What a serving device must hold over what it may: weights, a step's activations and the longest request that may come."""
    return _held(case(design), design.cache, design.group)


@lru_cache(maxsize=512)
def _held(one: ServedCase, cache_format: str, group: int) -> float:
    stored, alive, room = one.weighed
    longest = one.longest
    cache = longest * token_bytes(MODEL, cache_format) / group
    return (stored + alive + cache) / (stored + alive + room)


def answered(design: Design, faster: Faster) -> float:
    """The share of requests that get an answer: enough replicas are up, and not every attempt fails."""
    between = faster.mtbf * float(mtbf(unit_between_failures(RUN), design.group))
    up = between / (between + REPAIR)
    enough = replicated(up, design.replicas + design.spares, design.replicas, COMMON) if design.spares else up**design.replicas
    return enough * (1.0 - FAILING ** (design.retries + 1))


@lru_cache(maxsize=64)
def spent(noise: float) -> float:
    """ε of the fine-tuning, by the tight accountant; infinite without noise."""
    if noise <= 0:
        return math.inf
    return epsilon(TUNING_BATCH / RECORDS, noise, math.ceil(EPOCHS * RECORDS / TUNING_BATCH), DELTA)


def power() -> float:
    """Watts of a device at its rating."""
    return float(registered(MACHINE).power)
