"""How a serving engine puts requests together."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from ironlaw.engine.serving.llm.cache import whole
from ironlaw.engine.serving.llm.requests import Quantiles
from ironlaw.engine.serving.llm.step_times import StepTable
from ironlaw.engine.streams import uniform
from ironlaw.errors import BadValue, unknown

SCHEDULES = ("continuous", "static")
PREEMPTIONS = ("recompute", "swap")
DRAWS = 1 << 16  # of a stream of speculated steps
STRIDE = 40_503  # between the places where requests begin in it; shares no divisor with DRAWS


@dataclass(frozen=True, slots=True)
class Speculation:
    """A small model proposes `tokens`, the large one checks them in one step and keeps those before the first that it would not say."""

    tokens: int
    acceptance: float  # of each proposed token, where those before it were accepted
    draft: StepTable | None = None  # of the small model; None: its steps cost nothing

    def __post_init__(self) -> None:
        whole("speculated tokens", self.tokens)
        if not 0 <= self.acceptance <= 1:
            raise BadValue(f"the acceptance is {self.acceptance!r}; give a share between 0 and 1", "acceptance")

    @property
    def mean(self) -> float:
        """Tokens per step, on average: (1 − aᵏ⁺¹) / (1 − a)."""
        a, k = self.acceptance, self.tokens
        return k + 1.0 if a == 1 else (1 - a ** (k + 1)) / (1 - a)

    def steps(self, output: int, seed: int, place: int) -> int:
        """How many steps `output` tokens take: a stretch of one long stream of draws, which begins where `place` says."""
        sums = _tokens_after(self.tokens, self.acceptance, seed)
        begin = place * STRIDE % (DRAWS // 2)
        if output > sums[-1] - sums[begin]:
            return math.ceil(output / self.mean)
        return bisect_left(sums, sums[begin] + output) - begin


@lru_cache(maxsize=8)
def _tokens_after(tokens: int, acceptance: float, seed: int) -> tuple[int, ...]:
    """New tokens after 0, 1, 2 … steps: each step keeps one, and as many proposed ones as come before the first that is refused."""
    if acceptance in (0.0, 1.0):
        return tuple(range(0, DRAWS * (1 + int(acceptance) * tokens) + 1, 1 + int(acceptance) * tokens))
    scale = 1.0 / math.log(acceptance)
    return tuple(accumulate((1 + min(tokens, int(math.log1p(-u) * scale)) for u in uniform(seed, DRAWS)), initial=0))


@dataclass(frozen=True, slots=True)
class Policy:
    """`most` sequences at once, `budget` tokens per step. A static batch begins when the one before is done, and ends with its longest."""

    scheduling: str = "continuous"
    most: int = 256
    budget: int = 2048
    chunked: bool = True  # chunked prefill beside decoding; else whole prompts, while decoding stands still
    block: int = 16  # tokens of the cache that are handed out together
    preemption: str = "recompute"  # what becomes of the youngest request when the cache is full
    sharing: bool = False  # requests with the same beginning keep it once
    speculation: Speculation | None = None
    piece: int = 0  # most tokens of one prompt in a step; 0: as many as the step has room for
    kept: float = 0.0  # of the answers under way, the share that newcomers leave room for beside their own; 1: all, so nobody is stopped

    def __post_init__(self) -> None:
        for what, name, known in (("scheduling", self.scheduling, SCHEDULES), ("preemption", self.preemption, PREEMPTIONS)):
            if name not in known:
                raise unknown(what, name, known, field=what)
        for what in ("most", "budget", "block"):
            whole(what, getattr(self, what))
        if self.chunked and self.scheduling == "continuous" and self.budget < self.reach * self.most:
            raise BadValue(
                f"a budget of {self.budget} tokens per step is less than {self.most} sequences take to decode; raise it to"
                f" {self.reach * self.most}, or lower the sequences",
                "budget",
            )

    @property
    def reach(self) -> int:
        """Tokens that a decoding sequence puts through a step."""
        return 1 + (self.speculation.tokens if self.speculation else 0)

    @property
    def reserves(self) -> bool:
        """Whether room for the whole answer is taken at once: where nobody may be stopped, progress is in leaps, or a batch is fixed."""
        return self.kept == 1 or self.speculation is not None or self.scheduling == "static"


def refill_gain(outputs: Quantiles, batch: int) -> float:
    """Steps of a long backlog in batches that end with their longest answer, over those with places that are refilled at once."""
    return outputs.largest(whole("requests in a batch", batch)) / outputs.mean
