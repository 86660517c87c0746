"""A promise on the times of a request, the fewest replicas that keep it, and what keeps fewer from doing so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.errors import BadValue

THRASHING = 0.01  # preemptions per request from which the cache is the bottleneck
Run = Callable[[int], Outcome]  # with so many replicas


@dataclass(frozen=True, slots=True)
class Promise:
    """`share` of the requests get their first token within `ttft` seconds, that share of all gaps between tokens is within `tbt`, and
    that share of the requests takes at most `tpot` per token on average after the first. An infinite one promises nothing."""

    ttft: float
    tbt: float
    share: float = 0.99
    tpot: float = math.inf

    def __post_init__(self) -> None:
        check_positive("promised time to first token", self.ttft)
        for name, limit in (("time between tokens", self.tbt), ("mean time per token", self.tpot)):
            if limit != math.inf:
                check_positive(f"promised {name}", limit)
        if not 0 < self.share < 1:
            raise BadValue(f"the SLO's share is {self.share!r}; give one between 0 and 1, such as 0.99", "share")

    def broken(self, outcome: Outcome) -> tuple[str, ...]:
        """Which of "ttft", "tbt" and "tpot" is not kept; "work" where requests pile up, so that none would be in the end."""
        if outcome.hopeless:
            return ("ttft", *(("tbt",) if outcome.tbt(self.share) > self.tbt else ()))
        if outcome.behind:
            return ("work",)
        late = {
            "ttft": outcome.ttft(self.share) > self.ttft,
            "tbt": self.tbt < math.inf and outcome.slower_than(self.tbt, self.share),
            "tpot": self.tpot < math.inf and outcome.tpot(self.share) > self.tpot,
        }
        return tuple(name for name, too_long in late.items() if too_long)

    def beside(self, outcome: Outcome) -> dict[str, tuple[float, float]]:
        """What was promised: what it took, and its limit."""
        limits = {"ttft": self.ttft, "tbt": self.tbt, "tpot": self.tpot}
        return {name: (getattr(outcome, name)(self.share), limit) for name, limit in limits.items() if limit < math.inf}

    @property
    def step(self) -> float:
        """The longest step that may come again and again."""
        return min(self.tbt, self.tpot)

    def binds(self, outcome: Outcome) -> str:
        """What breaks it: "cache" where requests had to make room for others, else the times themselves; "" where it is kept."""
        broken = self.broken(outcome)
        if broken and outcome.preempted > THRASHING * len(outcome.requests):
            return "cache"
        return " and ".join(broken)


@dataclass(frozen=True)
class Answer:
    """The fewest replicas, what they do, and what fails the SLO with one fewer: "work" where they can't keep up, "" for a single one.

    `outcome` is of all of them, or of some that stand for all.
    """

    replicas: int
    outcome: Outcome
    binds: str = ""

    @property
    def whole(self) -> float:
        """How many times what the outcome counts all replicas make."""
        return self.replicas / self.outcome.replicas

    @property
    def tokens_per_s(self) -> float:
        return self.whole * self.outcome.tokens_per_s


def fewest(run: Run, promise: Promise, most: int, least: int = 1, explain: Run | None = None) -> Answer | None:
    """The fewest, found by doubling and halving from `least` on, below which none can do; None where not even `most` keep it.

    `explain`: a run that says what fails, where `run` ends as soon as it is clear that something does.
    """
    failed: dict[int, Outcome] = {}
    kept: dict[int, Outcome] = {}

    def holds(count: int) -> bool:
        outcome = run(count)
        broken = bool(promise.broken(outcome))
        (failed if broken else kept)[count] = outcome
        return not broken

    def fault(count: int) -> str:
        if count not in failed:
            return "work" if count else ""
        return promise.binds(explain(count) if explain and failed[count].hopeless else failed[count])

    if least > most:
        return None
    low, high = least - 1, least
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Answer(high, kept[high], fault(high - 1))
