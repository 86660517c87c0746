"""Streams of pseudo-random numbers as values: a seed and a length give the same numbers everywhere, to the last digit.

SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). A simulated figure is then as reproducible as a computed one.
"""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
LONGEST = 10_000_000


def integers(seed: int, n: int) -> tuple[int, ...]:
    """`n` integers of 64 bits."""
    if not 0 <= n <= LONGEST:
        raise BadValue(f"a stream of {n!r} numbers; ask for 0 to {LONGEST:,}", "n")
    state, numbers = seed & MASK, []
    for _ in range(n):
        state = (state + GAMMA) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        numbers.append(z ^ (z >> 31))
    return tuple(numbers)


def split(seed: int, which: int) -> int:
    """The seed of a stream of its own: arrivals and services drawn from one seed don't know of each other."""
    return integers(seed, which + 1)[-1]


@lru_cache(maxsize=64)
def uniform(seed: int, n: int) -> tuple[float, ...]:
    """`n` numbers from 0 up to, and never, 1."""
    return tuple([(z >> 11) * 2.0**-53 for z in integers(seed, n)])


@lru_cache(maxsize=64)
def exponential(seed: int, n: int, rate: float = 1.0) -> tuple[float, ...]:
    """`n` exponential times of mean 1 / rate."""
    check_positive("rate", rate)
    return tuple([-math.log1p(-u) / rate for u in uniform(seed, n)])


@lru_cache(maxsize=64)
def normal(seed: int, n: int) -> tuple[float, ...]:
    """`n` standard normal numbers, by Box and Muller: two uniform ones give two."""
    u = uniform(seed, n + n % 2)
    radii = [math.sqrt(-2.0 * math.log1p(-first)) for first in u[::2]]
    angles = [2.0 * math.pi * second for second in u[1::2]]
    pairs = [value for r, a in zip(radii, angles, strict=True) for value in (r * math.cos(a), r * math.sin(a))]
    return tuple(pairs[:n])


@lru_cache(maxsize=64)
def lognormal(seed: int, n: int, mean: float = 1.0, sigma: float = 1.0) -> tuple[float, ...]:
    """`n` log-normal times of the given mean; `sigma` is the spread of their logarithm."""
    check_positive("mean", mean)
    check_positive("sigma", sigma, zero=True)
    middle = math.log(mean) - sigma * sigma / 2.0
    return tuple([math.exp(middle + sigma * z) for z in normal(seed, n)])
