"""The wait where every request takes the same time: M/D/1, by Franx's sum (OR Letters 29, 2001).

Its terms are all positive. Crommelin's older sum alternates, and loses every digit of a double by a load of 0.9.
"""

from __future__ import annotations

import math

SETTLED = 1e-15  # the ratio of two neighbours, from which on the distribution is geometric
# places and weights of five points between 0 and 1
GAUSS = tuple(
    ((1 + sign * place) / 2, weight / 2)
    for place, weight in ((0.0, 0.5688888888888889), (0.5384693101056831, 0.4786286704993665), (0.906179845938664, 0.23692688505618908))
    for sign in ((1, -1) if place else (1,))
)
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


class NewestFirst:
    """The same line with the last to come served first, in units of one service.

    Who finds the server busy waits for the rest of that service, R, spread evenly over one service, and for everybody who comes in
    between: N of them, a generalised Poisson count (Consul and Jain 1973) with P(N = n) = a(a + nρ)ⁿ⁻¹ exp(−a − nρ)/n! at a = ρR.
    """

    def __init__(self, rho: float) -> None:
        self.rho = rho
        self._within = [0.0]  # P(R + N ≤ k), the server being busy

    def tail(self, t: float) -> float:
        """The share of requests that wait longer than `t` services before their own begins."""
        if t < 0:
            return 1.0
        whole = math.floor(t)
        while len(self._within) <= whole:
            self._within.append(self._within[-1] + self._count(len(self._within) - 1, 1.0))
        return self.rho * max(0.0, 1.0 - self._within[whole] - self._count(whole, t - whole))

    def _count(self, n: int, rest: float) -> float:
        """P(N = n and R ≤ rest), by Gauss and Legendre: the integrand is smooth."""
        return sum(weight * rest * self._given(n, rest * place) for place, weight in GAUSS) if rest else 0.0

    def _given(self, n: int, rest: float) -> float:
        """P(N = n) where R is `rest`."""
        a = self.rho * rest
        return math.exp(math.log(a) + (n - 1) * math.log(a + n * self.rho) - a - n * self.rho - math.lgamma(n + 1))


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
