"""The wait where every request takes the same time: M/D/1, by Franx's sum (OR Letters 29, 2001).

Its terms are all positive. Crommelin's older sum alternates, and loses every digit of a double by a load of 0.9.
"""

from __future__ import annotations

import math

SETTLED = 1e-15  # the ratio of two neighbours, from which on the distribution is geometric
ENOUGH = 1e-18  # what a Poisson term adds to a share at least


class FixedService:
    """A line at load `rho`, in units of one service."""

    def __init__(self, rho: float) -> None:
        self.rho = rho
        self._above, self._ratio = _longer_than(rho)

    def tail(self, t: float) -> float:
        """The share of requests that wait longer than `t` services before their own begins."""
        if t < 0:
            return 1.0
        whole = math.floor(t) + 1
        rest = self.rho * (whole - t)
        share, term, done = 0.0, math.exp(-rest), 0.0
        for j in range(whole):
            share += term * self._line_above(whole - 1 - j)
            done += term
            term *= rest / (j + 1)
            if term < ENOUGH:
                return share
        return share + max(0.0, 1.0 - done)

    def _line_above(self, n: int) -> float:
        """The share of time in which more than `n` wait, the one in service left out."""
        last = len(self._above) - 1
        return self._above[n + 1] if n < last else self._above[last] * self._ratio ** (n + 1 - last)


def _longer_than(rho: float) -> tuple[list[float], float]:
    """P(more than n in the system) for n = 0, 1, …, until it falls by a constant ratio; and that ratio.

    What crosses from n to n + 1 while one is served equals what crosses back: every term of the recursion is positive.
    """
    more = _poisson_tails(rho)
    shares, ratio = [1.0 - rho], 0.0
    while True:
        n = len(shares) - 1
        reach = range(max(1, n + 2 - len(more)), n + 1)
        up = (shares[0] * more[n] if n < len(more) else 0.0) + sum(shares[i] * more[n + 1 - i] for i in reach)
        shares.append(up * math.exp(rho))
        before, ratio = ratio, shares[-1] / shares[-2]
        if abs(ratio - before) <= SETTLED * ratio or shares[-1] < 1e-290:
            break
    above = [shares[-1] * ratio / (1.0 - ratio)]
    for share in reversed(shares[1:]):
        above.append(above[-1] + share)
    return above[::-1], ratio


def _poisson_tails(mean: float) -> list[float]:
    """P(more than n arrive during a service) for n = 0, 1, …, summed from the far end."""
    terms = [math.exp(-mean)]
    while terms[-1] > 1e-300:
        terms.append(terms[-1] * mean / len(terms))
    tails = [0.0]
    for term in reversed(terms[1:]):
        tails.append(tails[-1] + term)
    return tails[:0:-1]
