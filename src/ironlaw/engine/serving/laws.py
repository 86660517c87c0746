"""How long a service takes, as a law that can be asked, compared and composed: P(X > t), t in seconds.

A law is a value: two that are equal are the same law, so that a sum of five equal ones is computed once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.tails import at_least_one, normal_quantile
from ironlaw.engine.serving.tails import quantile as tail_quantile
from ironlaw.errors import BadValue

ROOT = math.sqrt(2)
KINDS = ("exponential", "lognormal", "pareto")


class Law(ABC):
    """Anything with a tail."""

    @abstractmethod
    def tail(self, t: float) -> float:
        """P(X > t)."""

    def tails(self, times: Sequence[float]) -> list[float]:
        """The same at many times: a sum asks for thousands, so the laws of a call's fate take them together."""
        return [self.tail(t) for t in times]

    def quantile(self, p: float) -> float:
        """The least t with P(X ≤ t) ≥ p; infinite where fewer are ever answered."""
        return math.inf if 1 - p < self.fails else tail_quantile(self.tail, p)

    @property
    def fails(self) -> float:
        """The share of calls that end without an answer, however long one waits."""
        return 0.0


@dataclass(frozen=True)
class Exponential(Law):
    mean: float

    def tail(self, t: float) -> float:
        return math.exp(-max(t, 0.0) / self.mean)

    def quantile(self, p: float) -> float:
        return -math.log1p(-p) * self.mean


@dataclass(frozen=True)
class Lognormal(Law):
    """`spread`: σ of the logarithm."""

    median: float
    spread: float

    def tail(self, t: float) -> float:
        return 1.0 if t <= 0 else math.erfc(math.log(t / self.median) / (self.spread * ROOT)) / 2

    def quantile(self, p: float) -> float:
        return self.median * math.exp(self.spread * normal_quantile(p))


@dataclass(frozen=True)
class Pareto(Law):
    """(least / t)^index: from index 2 down the variance is infinite, from 1 down the mean, too."""

    least: float
    index: float

    def tail(self, t: float) -> float:
        return 1.0 if t <= self.least else (self.least / t) ** self.index

    def quantile(self, p: float) -> float:
        return self.least * math.exp(-math.log1p(-p) / self.index)


@dataclass(frozen=True)
class Measured(Law):
    """A law by its quantiles in even steps, the least to the largest, straight lines between."""

    quantiles: tuple[float, ...]

    def tail(self, t: float) -> float:
        steps = self.quantiles
        if t < steps[0]:
            return 1.0
        if t >= steps[-1]:
            return 0.0
        i = bisect_right(steps, t) - 1
        return 1 - (i + (t - steps[i]) / (steps[i + 1] - steps[i])) / (len(steps) - 1)


@dataclass(frozen=True)
class Slowest(Law):
    """The slowest of k independent calls."""

    law: Law
    calls: int

    def tail(self, t: float) -> float:
        return at_least_one(self.law.tail(t), self.calls)

    def tails(self, times: Sequence[float]) -> list[float]:
        k, log, back = self.calls, math.log1p, math.expm1
        return [1.0 if p == 1 else -back(k * log(-p)) for p in self.law.tails(times)]

    @property
    def fails(self) -> float:
        return at_least_one(self.law.fails, self.calls)


@dataclass(frozen=True)
class Hedged(Law):
    """The first of two answers, where a copy is sent `after` seconds and adds no load."""

    law: Law
    after: float

    def tail(self, t: float) -> float:
        first = self.law.tail(t)
        return first if t < self.after else first * self.law.tail(t - self.after)

    def tails(self, times: Sequence[float]) -> list[float]:
        after = self.after
        copies = iter(self.law.tails([t - after for t in times if t >= after]))
        return [first if t < after else first * next(copies) for t, first in zip(times, self.law.tails(times), strict=True)]


@dataclass(frozen=True)
class Retried(Law):
    """A call that is given up after `timeout` seconds and made again, at most `retries` times; then it has failed."""

    law: Law
    timeout: float
    retries: int

    @cached_property
    def late(self) -> float:
        """The share of single calls that are given up."""
        return self.law.tail(self.timeout)

    @property
    def fails(self) -> float:
        return self.late ** (self.retries + 1)

    def tail(self, t: float) -> float:
        """The tail over all calls; those that fail are never answered."""
        late, tries = self.late, min(max(0, math.floor(t / self.timeout)), self.retries + 1)
        return late**tries * max(self.law.tail(t - tries * self.timeout), late) if tries <= self.retries else self.fails

    def tails(self, times: Sequence[float]) -> list[float]:
        timeout, most, late, fails = self.timeout, self.retries, self.late, self.fails
        tries = [min(max(0, math.floor(t / timeout)), most + 1) for t in times]
        last = iter(self.law.tails([t - n * timeout for t, n in zip(times, tries, strict=True) if n <= most]))
        return [late**n * max(next(last), late) if n <= most else fails for n in tries]


def law(kind: str, p99: float, shape: float = 1.0) -> Law:
    """One of three families through its P99, in seconds. `shape`: the spread of a log-normal, the index of a Pareto law."""
    check_positive("p99", p99)
    check_positive("shape", shape)
    if kind == "exponential":
        return Exponential(p99 / math.log(100))
    if kind == "lognormal":
        return Lognormal(p99 * math.exp(-normal_quantile(0.99) * shape), shape)
    if kind == "pareto":
        return Pareto(p99 * math.exp(math.log(0.01) / shape), shape)
    raise BadValue(f"no law {kind!r}; choose from {', '.join(KINDS)}", "law")


def measured(quantiles: tuple[float, ...]) -> Measured:
    """A measured law from quantiles in even steps, as the experiment `fan_out` keeps them."""
    if len(quantiles) < 2 or any(not 0 <= a <= b < math.inf for a, b in pairwise(quantiles)):
        raise BadValue(f"{len(quantiles)} quantiles; give at least two finite ones that never fall", "quantiles")
    return Measured(tuple(quantiles))
