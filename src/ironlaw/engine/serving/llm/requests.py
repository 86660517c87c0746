"""Requests as they come: a trace, or a law of arrivals and of lengths. Each law is drawn from its own stream, so a seed gives one load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple, Protocol

from ironlaw.engine.arrays import interpolate
from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.llm.cache import whole
from ironlaw.engine.streams import lognormal, split, uniform
from ironlaw.errors import BadValue

LONGEST = 1_000_000  # tokens; a drawn length stays under it


class Request(NamedTuple):
    """`shared`: so many tokens of the prompt are those of every request with the same `prefix`."""

    arrive: float
    prompt: int
    output: int
    prefix: str = ""
    shared: int = 0


class Lengths(Protocol):
    """A law of token counts."""

    def draw(self, seed: int, n: int) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class Spread:
    """Log-normal around a mean; `cv` is the standard deviation over the mean, and 0 makes all alike."""

    mean: float
    cv: float = 0.0

    def draw(self, seed: int, n: int) -> tuple[int, ...]:
        check_positive("mean length", self.mean)
        if not check_positive("spread of lengths", self.cv, zero=True):
            return (max(1, round(self.mean)),) * n
        return tuple([min(max(1, round(x)), LONGEST) for x in lognormal(seed, n, self.mean, self.sigma)])

    @property
    def sigma(self) -> float:
        """The standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.cv**2))

    def dealt(self, seed: int, n: int) -> tuple[int, ...]:
        """One length from each n-th of the law, in an order that is drawn: as few as there are, they are as long as the law says."""
        if not self.cv:
            return self.draw(seed, n)
        middle, bell = math.log(self.mean) - self.sigma**2 / 2, NormalDist()
        order = uniform(seed, n)
        places = sorted(range(n), key=order.__getitem__)
        return tuple([min(max(1, round(math.exp(middle + self.sigma * bell.inv_cdf((k + 0.5) / n)))), LONGEST) for k in places])


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Straight between published quantiles: `values[i]` is not exceeded by a share `shares[i]`."""

    shares: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.shares)) and all(a <= b for a, b in pairwise(self.values))
        if len(self.shares) != len(self.values) or len(self.shares) < 2 or not rising or (self.shares[0], self.shares[-1]) != (0.0, 1.0):
            raise BadValue("quantiles need shares from 0 to 1 that rise, and as many values that do not fall")

    def draw(self, seed: int, n: int) -> tuple[int, ...]:
        return tuple([self.at(u) for u in uniform(seed, n)])

    def at(self, share: float) -> int:
        """The whole number that this share stays within, at least 1."""
        return max(1, round(float(interpolate(share, self.shares, self.values))))

    @property
    def mean(self) -> float:
        return self.largest(1)

    def largest(self, count: int) -> float:
        """The mean of the largest of `count` draws: ∫ Q(u) · n·uⁿ⁻¹ du, with Q straight between the quantiles."""
        n, total = whole("count", count), 0.0
        for (p, a), (q, b) in pairwise(zip(self.shares, self.values, strict=True)):
            slope = (b - a) / (q - p)
            total += (a - slope * p) * (q**n - p**n) + slope * n / (n + 1) * (q ** (n + 1) - p ** (n + 1))
        return total


def arriving(rate: float, n: int, prompts: Lengths, outputs: Lengths, seed: int = 0, prefix: int = 0) -> tuple[Request, ...]:
    """`n` requests at Poisson moments; `prefix` tokens (a system prompt) stand before every prompt and are the same for all."""
    moments = poisson(float(check_positive("rate", rate)), whole("n", n), 1, seed)
    sizes = zip(moments, prompts.draw(split(seed, 1), n), outputs.draw(split(seed, 2), n), strict=True)
    return tuple([Request(at, prefix + p, o, "system" if prefix else "", prefix) for at, p, o in sizes])


def faster(requests: Sequence[Request], factor: float) -> tuple[Request, ...]:
    """The same requests, `factor` times as close to each other."""
    check_positive("factor", factor)
    return tuple([r._replace(arrive=r.arrive / factor) for r in requests])


def alike(requests: Sequence[Request], tokens: int) -> tuple[Request, ...]:
    """The same requests, whose prompts begin with the same `tokens` (a system prompt); those that are not longer have none of it."""
    whole("tokens", tokens)
    return tuple([r._replace(prefix="system", shared=tokens) if r.prompt > tokens else r for r in requests])


def checked(requests: Sequence[Request]) -> Sequence[Request]:
    """Refused where nothing arrives, time goes back, or a length is not a whole number of at least 1."""
    if not requests:
        raise BadValue("no request arrives; give at least one", "requests")
    for i, r in enumerate(requests):
        if not 0 <= r.arrive < math.inf or (i and r.arrive < requests[i - 1].arrive):
            raise BadValue(f"request {i + 1} arrives at {r.arrive!r}, before the one ahead of it; sort them by arrival", "requests")
        for name, tokens in (("prompt", r.prompt), ("output", r.output)):
            if not isinstance(tokens, int) or tokens < 1:
                raise BadValue(f"request {i + 1} has {name} {tokens!r}; give a whole number of tokens, at least 1", "requests")
        if not 0 <= r.shared <= r.prompt:
            raise BadValue(f"request {i + 1} shares {r.shared} of {r.prompt} prompt tokens; give at most all of them", "requests")
    return requests
