"""What requests got: when the first token came, how far apart the others were, and what the devices did meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ironlaw.engine.serving.line import ranked
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.engine.serving.llm.run_spread import Between, Ranks, mean_between, percentile_between
from ironlaw.errors import BadValue

STEADY = 4.0  # mean times of a request for which arrivals must go on before a rate is taken from the middle of them


class Moment(NamedTuple):
    """A stretch of equal steps."""

    at: float
    seconds: float  # of all its steps together
    steps: int
    batch: int  # sequences that decode
    prompt: int  # tokens of prompts in it
    used: int  # blocks of the cache
    waiting: int
    inside: float  # requests that have arrived and not left, on average over it


@dataclass(slots=True)
class Stay:
    """A request's stay, from admission until it leaves or has to make room; a request that made room comes back for another."""

    place: int  # of the request, in the order in which they were given
    begin: float
    held: int  # blocks that it was let in with
    tokens: int  # in the cache when it begins to decode
    decode: float = math.inf  # when it does
    end: float = math.inf


@dataclass(frozen=True)
class Outcome:
    """Requests in the order in which they were given; times in seconds from the start."""

    requests: tuple[Request, ...]
    first: tuple[float, ...]
    leave: tuple[float, ...]
    gaps: tuple[tuple[float, float], ...] = field(repr=False)  # seconds between two tokens, and between how many
    moments: tuple[Moment, ...] = field(repr=False)
    blocks: int = 0  # of the cache, in all replicas together
    preempted: int = 0  # times that a request had to make room
    reused: int = 0  # prompt tokens that were in the cache already
    replicas: int = 1
    stays: tuple[Stay, ...] = field(default=(), repr=False)  # of a single replica: who was in the cache, from when to when
    warm: int = 0  # requests that only fill an empty server: their first tokens are not counted
    hopeless: bool = False  # it ended when too many first tokens were late: its other figures are of no use
    behind: bool = False  # whoever ran it found that answers take the longer the longer requests come

    @cached_property
    def waits(self) -> tuple[float, ...]:
        """Times to first token after the warm-up, sorted."""
        return tuple(sorted(self._waits))

    @cached_property
    def _waits(self) -> tuple[float, ...]:
        return tuple(first - r.arrive for r, first in zip(self.requests[self.warm :], self.first[self.warm :], strict=True))

    @cached_property
    def times(self) -> tuple[float, ...]:
        """Each request's seconds from arrival to the last token, sorted."""
        return tuple(sorted(leave - r.arrive for r, leave in zip(self.requests, self.leave, strict=True)))

    def ttft(self, p: float) -> float:
        return float(ranked(self.waits, p))

    def ttft_between(self, p: float) -> Between:
        """The range in which it lies, as far as this run can tell."""
        if ("ttft", p) not in self._asked:
            self._asked["ttft", p] = percentile_between([(wait, 1.0) for wait in self._waits], p)
        return self._asked["ttft", p]

    def tbt(self, p: float) -> float:
        """The gap between tokens that a share `p` of all gaps stay within; 0 where no answer has two tokens."""
        if not 0 < p < 1:
            raise BadValue(f"the quantile is {p!r}; give a share between 0 and 1, such as 0.99", "p")
        return self._ranks.at(p) if self.gaps else 0.0

    def slower_than(self, gap: float, p: float) -> bool:
        """Whether `tbt(p)` is longer than `gap`; gaps are counted, not sorted."""
        within = math.fsum([count for seconds, count in self.gaps if seconds <= gap])
        every = math.fsum([count for _, count in self.gaps])
        return within < p * every - 1e-9

    def beyond(self, wait: float, gap: float) -> tuple[int, float]:
        """How many first tokens took longer, and how many gaps were."""
        late = sum(first - r.arrive > wait for r, first in zip(self.requests, self.first, strict=True))
        return late, math.fsum([count for seconds, count in self.gaps if seconds > gap]) if gap < math.inf else 0.0

    def tbt_between(self, p: float) -> Between:
        """The range in which it lies, as far as this run can tell."""
        if ("tbt", p) not in self._asked:
            self._asked["tbt", p] = percentile_between(self.gaps, p, self._ranks) if self.gaps else (0.0, 0.0)
        return self._asked["tbt", p]

    def tpot(self, p: float) -> float:
        """The mean time per token after the first that a share `p` of the requests stay within; 0 where no answer has two tokens."""
        return float(ranked(self._means, p)) if self._means else 0.0

    @cached_property
    def _means(self) -> tuple[float, ...]:
        """The mean gap of each request with two tokens or more, after the warm-up, sorted."""
        spans = tuple(zip(self.requests, self.first, self.leave, strict=True))[self.warm :]
        return tuple(sorted((leave - first) / (r.output - 1) for r, first, leave in spans if r.output > 1))

    @cached_property
    def _ranks(self) -> Ranks:
        """The ranks of the gaps."""
        return Ranks(self.gaps)

    @cached_property
    def _asked(self) -> dict[tuple[str, float], Between]:
        """What is between two tokens, or before the first, by share: a page asks for the same one again and again."""
        return {}

    @property
    def tokens(self) -> int:
        """New tokens."""
        return sum(r.output for r in self.requests)

    @property
    def span(self) -> float:
        """Seconds from the first arrival to the last token."""
        return max(self.leave) - self.requests[0].arrive

    @property
    def throughput(self) -> float:
        """New tokens per second, of all replicas together."""
        return self.tokens / self.span

    @cached_property
    def tokens_per_s(self) -> float:
        """New tokens per second while requests keep coming: from when a tenth of them has arrived until the last has.

        That leaves out a cold start and the answers after the last arrival. Where requests come for less than a few answers' time, or
        faster than they are answered, it is `throughput`.
        """
        begin, end = self.requests[len(self.requests) // 10].arrive, self.requests[-1].arrive
        if end - begin < STEADY * self.mean_time:
            return self.throughput
        spans = zip(self.requests, self.first, self.leave, strict=True)
        return math.fsum(_tokens_within(r.output, first, leave, begin, end) for r, first, leave in spans) / (end - begin)

    @property
    def rate(self) -> float:
        return len(self.requests) / self.span

    @property
    def mean_time(self) -> float:
        return math.fsum(self.times) / len(self.times)

    @cached_property
    def mean_time_between(self) -> Between:
        """The range in which it lies, as far as this run can tell."""
        return mean_between([leave - r.arrive for r, leave in zip(self.requests, self.leave, strict=True)])

    @cached_property
    def in_system(self) -> float:
        """Requests inside on average, as the steps saw them."""
        return math.fsum(m.inside * m.seconds for m in self.moments) / self.span

    @property
    def busy(self) -> float:
        """The share of the replicas' time in which a step runs."""
        return math.fsum(m.seconds for m in self.moments) / (self.span * self.replicas)

    @property
    def steps(self) -> int:
        return sum(m.steps for m in self.moments)

    @property
    def batch(self) -> float:
        """Sequences in a step that decodes, on average over steps."""
        decoding = [(m.batch, m.steps) for m in self.moments if m.batch]
        count = sum(steps for _, steps in decoding)
        return sum(batch * steps for batch, steps in decoding) / count if count else 0.0

    @property
    def peak(self) -> float:
        """The largest share of one replica's cache that was in use."""
        each = self.blocks / self.replicas
        return max(m.used for m in self.moments) / each

    @property
    def cache_use(self) -> float:
        """The share of one replica's cache that is in use, on average while it works."""
        seconds = math.fsum(m.seconds for m in self.moments)
        return math.fsum(m.used * m.seconds for m in self.moments) / seconds / (self.blocks / self.replicas)

    def kept(self, ttft: float, tbt: float) -> int:
        """Requests whose first token came within `ttft`, and the others within `tbt` of each other on average."""
        count = 0
        for r, first, leave in zip(self.requests, self.first, self.leave, strict=True):
            each = (leave - first) / (r.output - 1) if r.output > 1 else 0.0
            count += first - r.arrive <= ttft and each <= tbt
        return count

    def goodput(self, ttft: float, tbt: float) -> float:
        """Requests per second that meet the SLO."""
        return self.kept(ttft, tbt) / self.span


def _tokens_within(output: int, first: float, leave: float, begin: float, end: float) -> float:
    """The tokens in the window of an answer whose first token comes at `first` and the others evenly until `leave`."""
    inside = max(0.0, min(leave, end) - max(first, begin))
    return (begin <= first <= end) + ((output - 1) * inside / (leave - first) if leave > first else 0.0)


def joined(parts: Sequence[Outcome], order: Iterable[Sequence[int]]) -> Outcome:
    """Replicas side by side; `order[k]` are the places of part k's requests in the whole."""
    places = [place for part in order for place in part]
    rank = sorted(range(len(places)), key=places.__getitem__)
    requests = [r for part in parts for r in part.requests]
    first = [t for part in parts for t in part.first]
    leave = [t for part in parts for t in part.leave]
    return Outcome(
        tuple(requests[i] for i in rank), tuple(first[i] for i in rank), tuple(leave[i] for i in rank),
        tuple(gap for part in parts for gap in part.gaps), tuple(sorted(m for part in parts for m in part.moments)),
        sum(part.blocks for part in parts), sum(part.preempted for part in parts), sum(part.reused for part in parts),
        sum(part.replicas for part in parts),
    )  # fmt: skip
