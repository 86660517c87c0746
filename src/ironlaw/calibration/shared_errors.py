"""What measured rows say of a prediction that was made without them: one Gaussian process over log(measured / predicted).

Two ops are off together by as much as they have in common. With s the sd that the prediction claims for an op, and w the shares of its time
that are fixed cost, data and arithmetic,

    cov(i, j) = sᵢ sⱼ [ (M + L·same law + C·same curve) wᵢ·wⱼ + same family (F + A·k(d / far) + B·k(d / near)) ] + own part of i = j

so a machine whose memory is slower than its datasheet says is learnt from any few streams, a library that is bad at a kind of kernel from
some of that kind, a tile from shapes nearby. With no rows nothing changes; where the prediction was sure already, rows move it little.
Rows that fit nothing else count less (Student's t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ironlaw.engine.device.uncertainty import ROOT3

# how an error's variance divides: of six divisions tried on ten public GPUs (benchmarks/minute_public.py) none came out far from another
MACHINE, LAW, CURVE, FAMILY, FAR, NEAR, OWN = 0.10, 0.10, 0.25, 0.10, 0.15, 0.10, 0.20
LONG, SHORT = 8.0, 2.0  # how far the last two reach, in doublings of a size
REPEATS = 0.05  # sd with which a row repeats on another day
FREEDOM = 4.0  # degrees of Student's t
ROUNDS = 5  # of weighing odd rows less
# sds between which an op counts: what nothing is known of learns no more than three times what sure ops do
NARROWEST, WIDEST = 0.15, 0.45


@dataclass(frozen=True, slots=True)
class Trait:
    """An op as the rows see it."""

    shares: tuple[float, float, float]  # of its predicted time: fixed cost, data, arithmetic
    law: str
    curve: str
    family: str
    place: tuple[float, ...]  # among its family: logarithms of sizes to the base of 2
    sd: float  # of log(measured / predicted), as the prediction has it
    op: str = ""  # which op it is, where that is known: the same op has its own part in common too


class Side:
    """Ops as arrays: built once for the rows, which are asked again and again."""

    def __init__(self, traits: Sequence[Trait]) -> None:
        import numpy as np

        self.scale = np.array([min(max(t.sd, NARROWEST), WIDEST) for t in traits])
        self.shares = np.array([t.shares for t in traits])
        self.laws, self.curves = (np.array([getattr(t, name) for t in traits]) for name in ("law", "curve"))
        self.ops = np.array([hash(t.op) if t.op else 0 for t in traits])
        members: dict[str, list[int]] = {}
        for i, trait in enumerate(traits):
            members.setdefault(trait.family, []).append(i)
        self.families = {name: (np.array(some), np.array([traits[i].place for i in some])) for name, some in members.items()}


@dataclass(frozen=True)
class SharedErrors:
    """Rows by their traits, and log(measured / predicted) of each."""

    rows: tuple[Trait, ...]
    logs: tuple[float, ...]

    def at(self, traits: Sequence[Trait]) -> tuple[Any, Any]:
        """(log of the factor, sd that is left) for each of some ops."""
        import numpy as np

        own = np.array([t.sd for t in traits])
        if not self.rows:
            return np.zeros(len(traits)), own
        weights, half, noise = self._solved
        side = Side(traits)
        alone = OWN * side.scale**2
        same = _same(side, self._side)
        known = same * (noise - REPEATS**2)  # what a row has to itself is known of the very op that was timed
        measured = same.any(1)
        shared = between(side, self._side) + known
        whole = _whole(side) + alone
        before = np.where(measured, whole - alone + known.max(1), whole)
        left = np.maximum(before - ((shared @ half.T) ** 2).sum(1), REPEATS**2)
        return shared @ weights, own * np.sqrt(np.minimum(left / whole, 1.0))

    def left_out(self) -> tuple[Any, Any]:
        """Each row as the others predict it: what is left of its logarithm, and how sure the others are."""
        import numpy as np

        weights, half, _ = self._solved
        diagonal = (half**2).sum(0)
        return weights / diagonal, np.sqrt(1.0 / diagonal)

    @cached_property
    def _side(self) -> Side:
        return Side(self.rows)

    @cached_property
    def _solved(self) -> tuple[Any, Any, Any]:
        """What each row weighs, the inverse of the lower factor of all covariances, and what each has to itself."""
        import numpy as np

        shared, logs = between(self._side, self._side), np.array(self.logs)
        noise = alone = REPEATS**2 + OWN * self._side.scale**2
        for _ in range(ROUNDS):
            weights = np.linalg.solve(shared + np.diag(noise), logs)
            odd = (logs - shared @ weights) ** 2 / alone
            noise = alone * (FREEDOM + odd) / (FREEDOM + 1.0)
        half = np.linalg.inv(np.linalg.cholesky(shared + np.diag(noise)))
        return half.T @ (half @ logs), half, noise


def covariance(some: Sequence[Trait], others: Sequence[Trait]) -> Any:
    """What ops have in common; of an op with itself all of it."""
    return covariances(Side(some), Side(others))


def covariances(a: Side, b: Side) -> Any:
    """The same of ops that are arrays already."""
    return between(a, b) + OWN * _same(a, b) * a.scale[:, None] * b.scale[None, :]


def variances(side: Side) -> Any:
    """Each op's own, before any row is known."""
    return _whole(side) + OWN * side.scale**2 * (side.ops != 0)


def _same(a: Side, b: Side) -> Any:
    """Where both are one op."""
    return (a.ops[:, None] == b.ops[None, :]) & (a.ops != 0)[:, None]


def between(a: Side, b: Side) -> Any:
    import numpy as np

    laws, curves = a.laws[:, None] == b.laws[None, :], a.curves[:, None] == b.curves[None, :]
    out = (MACHINE + LAW * laws + CURVE * curves) * (a.shares @ b.shares.T)
    for name, (mine, here) in a.families.items():
        if name in b.families:
            theirs, there = b.families[name]
            apart = np.sqrt(((here[:, None, :] - there[None, :, :]) ** 2).sum(2))
            out[np.ix_(mine, theirs)] += FAMILY + FAR * _matern(apart / LONG) + NEAR * _matern(apart / SHORT)
    return out * a.scale[:, None] * b.scale[None, :]


def _whole(side: Side) -> Any:
    """The variance of each op before any row is known, but for the part of its own."""
    return side.scale**2 * ((MACHINE + LAW + CURVE) * (side.shares**2).sum(1) + FAMILY + FAR + NEAR)


def _matern(distance: Any) -> Any:
    import numpy as np

    x = ROOT3 * distance
    return (1.0 + x) * np.exp(-x)
