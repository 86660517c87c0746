"""One setting of Act II: shards with a line each, a page that asks many, copies for the late. Every figure comes from a simulated run.

Runs are kept in units of the mean service, so that two contexts share them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.hedging import STUCK, HedgedRun, hedge_fate, hedging_run
from ironlaw.engine.serving.samples import least_count
from ironlaw.engine.serving.tails import at_least_one, fan_out_quantile
from ironlaw.engine.streams import split, uniform
from ironlaw.labs.lab_14_tail import work
from ironlaw.measure.experiments import fan_out

ASKED_SERVICE = 0.010  # seconds; the question's
SHARDS = 50  # simulated: a page asks as many as the dial says, each as independent as these
PAUSED = (8_000, 16)  # requests and shards of the run with a pause
PAUSED_MOVING = (3_000, 6)  # and while a dial moves: as long, and less smooth
MOVING = 3_000  # requests while a dial moves
RARE, TIMES = 0.01, 100.0  # of two kinds: one in a hundred takes a hundred times as long
OFF, ALL, BUDGET, CALLED_BACK = "off", "all", "budget", "called_back"
PAUSES = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
Curve = tuple[float, ...]


@dataclass(frozen=True)
class Fleet:
    """`curve`: the service times measured here as quantiles. The defaults are the question's, without copies."""

    leaf: str = "exponential"
    k: int = 100
    rho: float = 0.7
    hedge: str = OFF
    quantile: float = 0.95
    budget: float = 0.05
    pause: float = 1.0
    n: int = 29_956
    target: float = 0.5
    service: float = ASKED_SERVICE
    curve: Curve = ()
    moving: bool = False

    @property
    def counted(self) -> int:
        """Requests that are simulated now."""
        return min(self.n, MOVING) if self.moving else self.n

    @property
    def limit(self) -> float | None:
        """Copies per request; None is no limit."""
        return self.budget if self.hedge == BUDGET else None

    @property
    def plain(self) -> HedgedRun:
        """Without copies."""
        return _run(self.leaf, self.curve, self.rho, OFF, 0.0, 0.0, 0.0, self.counted, SHARDS)

    @property
    def run(self) -> HedgedRun:
        """An ordinary day: as set, without a pause."""
        return _run(self.leaf, self.curve, self.rho, self.hedge, self._delay, self._limit, 0.0, self.counted, SHARDS)

    @property
    def paused(self) -> HedgedRun:
        return self.after_a_pause(self.pause)

    def after_a_pause(self, seconds: float) -> HedgedRun:
        n, shards = PAUSED_MOVING if self.moving else PAUSED
        return _run(self.leaf, self.curve, self.rho, self.hedge, self._delay, self._limit, seconds / self.service, n, shards)

    @property
    def _delay(self) -> float:
        """In services: the quantile of a day without copies. Taken from the short run, so that it stays while dials move."""
        if self.hedge == OFF:
            return 0.0
        return _run(self.leaf, self.curve, self.rho, OFF, 0.0, 0.0, 0.0, MOVING, SHARDS).quantile(self.quantile)

    @property
    def delay(self) -> float:
        return self._delay * self.service

    @property
    def _limit(self) -> float:
        return -1.0 if self.limit is None else self.limit

    @property
    def fate(self) -> str:
        return hedge_fate(self.rho, self.limit, self.hedge == CALLED_BACK) if self.hedge != OFF else hedge_fate(self.rho, 0.0)

    @property
    def proven(self) -> bool:
        """Whether the fate is a theorem: a loser that is called back costs nothing only where service is exponential."""
        return self.hedge != CALLED_BACK or self.leaf == "exponential" or 2 * self.rho < 1

    @property
    def tipped(self) -> bool:
        """Whether the run with a pause ends with half of the requests slower than 99 % of an ordinary day without copies."""
        return stays_late(self, self.pause)

    @property
    def leaf_quantile(self) -> float:
        """Of one shard: what is the page's P99."""
        return fan_out_quantile(0.99, self.k)

    @property
    def needed(self) -> int:
        """The fewest requests whose largest bounds that quantile."""
        return least_count(self.leaf_quantile)

    @property
    def known(self) -> bool:
        return self.n >= self.needed

    @property
    def page_p99(self) -> float:
        return self.run.quantile(self.leaf_quantile) * self.service

    @property
    def plain_p99(self) -> float:
        return self.plain.quantile(self.leaf_quantile) * self.service

    @property
    def leaf_p99(self) -> float:
        return self.run.quantile(0.99) * self.service

    @property
    def gain(self) -> float:
        """What copies take off the page's P99, as a share."""
        return 1 - self.page_p99 / self.plain_p99

    @property
    def in_time(self) -> bool:
        return self.page_p99 <= self.target


def stays_late(fleet: Fleet, pause: float) -> bool:
    return fleet.after_a_pause(pause).last_median() > _run(fleet.leaf, fleet.curve, fleet.rho, OFF, 0.0, 0.0, 0.0, MOVING, SHARDS).quantile(
        0.99
    )


def tipping_pause(fleet: Fleet) -> float | None:
    """The shortest pause on the dial after which the run stays late; None where none does."""
    if not stays_late(fleet, PAUSES[-1]):
        return None
    place = bisect_left(PAUSES, True, key=lambda pause: stays_late(fleet, pause))
    return PAUSES[place]


@lru_cache(maxsize=96)
def _run(
    leaf: str, curve: Curve, rho: float, hedge: str, delay: float, limit: float, pause: float, n: int, shards: int
) -> HedgedRun:  # fmt: skip
    return hedging_run(
        rho, None if hedge == OFF else delay, None if limit < 0 else limit, hedge == CALLED_BACK, pause, 1.0, shards, n,
        works=_works(leaf, curve, n),
    )  # fmt: skip


@lru_cache(maxsize=16)
def _works(leaf: str, curve: Curve, n: int) -> Sequence[float] | None:
    """2n service times of mean 1."""
    if leaf == "exponential":
        return None
    if leaf == "fixed":
        return [1.0] * (2 * n)
    draws = uniform(split(0, 7), 2 * n)
    if leaf == "two":
        short = 1 / (1 - RARE + RARE * TIMES)
        return [short * TIMES if u < RARE else short for u in draws]
    mean, last = _mean(curve), len(curve) - 1
    return [_between(curve, u * last) / mean for u in draws]


def _between(curve: Curve, at: float) -> float:
    low = min(int(at), len(curve) - 2)
    return curve[low] + (at - low) * (curve[low + 1] - curve[low])


def _mean(curve: Curve) -> float:
    return sum(a + b for a, b in pairwise(curve)) / 2 / (len(curve) - 1)


def here(lab: kit.Lab) -> Curve:
    """The times of the learner's own calls, as quantiles; empty where none were measured."""
    run = lab.local_run("fan_out")
    leaf = run.row(name=fan_out.LEAF) if run else None
    return tuple(map(float, leaf["params"]["quantiles"])) if leaf else ()


def tail_of(run: HedgedRun, service: float, k: int, count: int = 60) -> list[tuple[float, float]]:
    """(t, share slower than t, in %) of pages that join k, by rank: it ends with the slowest request counted."""
    ranks = sorted({round(run.n ** (i / (count - 1))) for i in range(count)}, reverse=True)
    return [(run.ordered[run.n - j] * service, 100 * at_least_one(j / run.n, k)) for j in ranks]


def fleet_of(lab: kit.Lab, values: Mapping[str, Any]) -> Fleet:
    """Of the dials."""
    curve = here(lab) if values["leaf"] == "here" else ()
    service = _mean(curve) if curve else ASKED_SERVICE if values["work"] == "asked" else work.seconds(lab)
    return Fleet(
        values["leaf"], round(values["k"]), values["rho"] / 100, values["hedge"], values["quantile"] / 100, values["budget"] / 100,
        values["pause"], round(values["n"]), values["target"] / 1e3, service, curve, bool(values.get("moving")),
    )  # fmt: skip


def is_stuck(fleet: Fleet) -> bool:
    return fleet.fate == STUCK
