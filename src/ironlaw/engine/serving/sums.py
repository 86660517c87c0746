"""Services in a row: the law of a sum. Percentiles do not add, except where all are slow together.

The sum is taken on a line of even steps up to a horizon: Fourier transforms multiply, and a factor e^(−θt), taken off again at the end,
keeps what lies beyond the horizon from folding back. A sum lies within the horizon only if each part does, so nothing else is lost.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ironlaw.engine.fourier import spectrum, values
from ironlaw.engine.serving.laws import Law
from ironlaw.engine.serving.tails import quantile as tail_quantile
from ironlaw.errors import BadValue

STEPS = 1024
FINER = ((50, 1), (100, 2), (math.inf, 4))  # up to so many parts, so many times the steps: each is then a small part of the whole
DAMPING = 16.0  # θ times the horizon: what folds back shrinks by e^16, and rounding grows by it
ROOM = 2.5  # a horizon beyond this many times the quantile is too coarse, and is taken again
ROUNDS = 64  # of looking for a horizon: doubled so often it passes all times that there are
FINE = 400  # points of a mean
SIMPSON = [1, *[4, 2] * (FINE // 2 - 1), 4, 1]
DEPTHS = tuple(-k / 20 for k in range(1, 640))  # ln(1 − p) at which quantiles of dependent laws are added
PLACES = range(len(DEPTHS))


@dataclass(frozen=True)
class Total(Law):
    """The sum of the laws. `dependence`: the share of requests in which one cause makes all services equally slow, each at the same
    quantile of its own law; in the others they are independent. The laws themselves stay as they are, whatever the dependence.

    `shared`: what the services are in those requests, where that is not the laws themselves: of calls at once that are all at the same
    quantile, the slowest is like any one of them."""

    laws: tuple[Law, ...]
    dependence: float = 0.0
    steps: int = STEPS
    shared: tuple[Law, ...] = ()

    def tail(self, t: float) -> float:
        """P(sum > t)."""
        if t <= 0:
            return 1.0
        if len(self.laws) == 1:
            return self._over(t, t)
        return self._over(t, _even(t * 2**0.25))

    def quantile(self, p: float) -> float:
        if not 0 < p < 1:
            raise BadValue(f"the quantile is {p!r}; give a share between 0 and 1, such as 0.99", "p")
        if p > 1 - self.fails:
            return math.inf
        if self.dependence == 1:
            return math.fsum(law.quantile(p) for law in self.together)
        if len(self.laws) == 1:
            return tail_quantile(self.tail, p) if self.dependence and self.shared else self.laws[0].quantile(p)
        horizon = self._horizon(1 - p)
        for _ in range(ROUNDS if math.isfinite(horizon) else 0):
            horizon = _even(horizon)
            if self._over(horizon, horizon) > 1 - p:
                horizon *= 2
                continue
            t = tail_quantile(lambda t, end=horizon: self._over(t, end) if t < end else 0.0, p)  # type: ignore[misc]
            if horizon <= ROOM * t:
                return t
            horizon = max(0.6 * ROOM * t, 4 * horizon / self.steps)
        return math.inf  # what fails is as much as may be late, to within rounding

    def _horizon(self, late: float) -> float:
        """Seconds within which about all but a share `late` of the sums lie: if each of n is within its quantile 1 − late/n, all are in a
        share 1 − late of cases. A part that fails more often than that leaves its failures out; infinite where nothing else may be late."""
        each, spare = max(late / len(self.laws), 1e-15), (late - self.fails) / len(self.laws)
        rests = {law: each if law.fails < each else law.fails + spare for law in self.laws}
        return math.fsum(n * law.quantile(1 - rests[law]) for law, n in Counter(self.laws).items())

    @cached_property
    def fails(self) -> float:
        """Where a part fails the whole does."""
        once = max(law.fails for law in self.together)
        return self.dependence * once + (1 - self.dependence) * (1 - math.prod(1 - law.fails for law in self.laws))

    @property
    def together(self) -> tuple[Law, ...]:
        """The services of a request in which all are equally slow."""
        return self.shared or self.laws

    def curve(self, until: float, points: int = 200) -> list[tuple[float, float]]:
        """(t, P(sum > t)) in even steps up to a horizon: a picture's line."""
        if not 0 < until < math.inf:
            raise BadValue(f"a horizon of {until!r} seconds; give a finite time above 0", "until")
        return [(t, self._over(t, until)) for t in (until * k / points for k in range(1, points + 1))]

    def tails(self, times: Sequence[float]) -> list[float]:
        """P(sum > t) at several times, in steps as fine as the last of them allows: a picture's line on any axis."""
        last = max(times)
        if not 0 < last < math.inf or min(times) <= 0:
            raise BadValue("times of a tail must lie above 0 and be finite; give at least one", "times")
        return [self._over(t, last) for t in times]

    def _over(self, t: float, horizon: float) -> float:
        apart = self.laws[0].tail(t) if len(self.laws) == 1 else 1 - self._apart(horizon).within(t)
        return self.dependence * self._together(t) + (1 - self.dependence) * apart if self.dependence else apart

    def _apart(self, horizon: float) -> Distribution:
        """Kept here as well: to find it by its laws takes longer than to read it."""
        if horizon not in self._kept:
            self._kept[horizon] = distribution(self.laws, horizon, self.steps)
        return self._kept[horizon]

    @cached_property
    def _kept(self) -> dict[float, Distribution]:
        return {}

    def _together(self, t: float) -> float:
        """P(sum > t) where all are at the same quantile: the p at which the quantiles add up to t."""
        if len(set(self.together)) == 1:
            return self.together[0].tail(t / len(self.together))
        i = bisect_left(PLACES, t, key=self._deep)
        if i == 0:
            return 1.0
        before, after = self._deep(i - 1), self._deep(i) if i < len(DEPTHS) else math.inf
        if math.isinf(after):
            return math.exp(DEPTHS[i - 1])
        part = math.log(t / before) / math.log(after / before)
        return math.exp(DEPTHS[i - 1] + part * (DEPTHS[i] - DEPTHS[i - 1]))

    def _deep(self, place: int) -> float:
        """The sum of the laws' quantiles at a depth. Only the few depths that a search comes by are ever asked for."""
        if place not in self._sums:
            self._sums[place] = math.fsum(count * _deep(law, place) for law, count in Counter(self.together).items())
        return self._sums[place]

    @cached_property
    def _sums(self) -> dict[int, float]:
        return {}


def total(laws: Sequence[Law], dependence: float = 0.0, steps: int = 0, shared: Sequence[Law] = ()) -> Total:
    """The law of services called one after the other. `steps`: of the line that the sum is taken on; 0 for what is enough. `shared`: what
    stands for the laws in requests in which all are equally slow (see Total)."""
    if not laws:
        raise BadValue("a chain of no services; name at least one", "laws")
    if not 0 <= dependence <= 1:
        raise BadValue(f"the dependence is {dependence!r}; give a share from 0 (independent) to 1 (all slow together)", "dependence")
    enough = next(times * STEPS for most, times in FINER if len(laws) <= most)
    return Total(tuple(laws), dependence, steps or enough, tuple(shared))


def _even(horizon: float) -> float:
    """Rounds a horizon up, to the same value for all nearby, so that sums of some of the same laws share what is computed for each."""
    return float(2.0 ** (math.ceil(4 * math.log2(horizon)) / 4)) if horizon < 1e300 else horizon


@dataclass(frozen=True)
class Distribution:
    """`shares[k]`: P(sum ≤ shift + (k + ½) · step)."""

    shares: tuple[float, ...]
    step: float
    shift: float

    def within(self, t: float) -> float:
        """Straight lines between the steps."""
        k = (t - self.shift) / self.step - 0.5
        if k < 0:
            return self.shares[0] * max(0.0, 2 * (k + 0.5))
        i = min(int(k), len(self.shares) - 2)
        return self.shares[i] + (self.shares[i + 1] - self.shares[i]) * min(k - i, 1.0)


@lru_cache(maxsize=64)
def distribution(laws: tuple[Law, ...], horizon: float, steps: int = STEPS) -> Distribution:
    """The distribution of the sum of independent laws, up to the horizon."""
    product = [complex(1.0)] * (steps // 2 + 1)
    shift = 0.0
    for law, times in Counter(laws).items():
        each, gap = _stepped(law, horizon, steps)
        product = [a * b**times for a, b in zip(product, each, strict=True)]
        shift += times * gap
    shares, so_far, growth, theta = [], 0.0, 1.0, math.exp(DAMPING / steps)
    for mass in values(product):
        so_far += mass * growth
        growth *= theta
        shares.append(min(1.0, max(0.0, so_far)))
    return Distribution(tuple(shares), horizon / steps, shift)


@lru_cache(maxsize=128)
def _stepped(law: Law, horizon: float, steps: int) -> tuple[tuple[complex, ...], float]:
    """What falls within half a step of each point stands there, damped; and by how much that moves the mean."""
    step, theta = horizon / steps, math.exp(-DAMPING / steps)
    tails = law.tails([(k + 0.5) * step for k in range(steps)])
    masses, damping = [], 1.0
    for before, after in zip([1.0, *tails], tails, strict=False):
        masses.append((before - after) * damping)
        damping *= theta
    return tuple(spectrum(masses)), _mean(law, horizon) - step * math.fsum(tails)


def _mean(law: Law, horizon: float) -> float:
    """∫ P(X > t) dt up to the horizon, by Simpson's rule in the logarithm of t."""
    low, width = horizon * 1e-9, math.log(1e9) / FINE
    times = [low * math.exp(k * width) for k in range(FINE + 1)]
    total = sum(weight * t * tail for weight, t, tail in zip(SIMPSON, times, law.tails(times), strict=True))
    return low + total * width / 3


@lru_cache(maxsize=4096)
def _deep(law: Law, place: int) -> float:
    """A law's quantile at a depth: the chain without one of its services asks for the others' again."""
    return law.quantile(-math.expm1(DEPTHS[place]))
