"""One setting of Act II: shards with a line each, a page that asks many, copies for the late.

What has a law is shown by it: a shard's line without copies, and with copies that of a fleet of very many shards. What a pause does, and
service times without a law, come from a simulated run.
Runs are kept in units of the mean service, so that two contexts share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.hedged_fleet import HedgedFleet, cancelling_fleet, hedged_fleet
from ironlaw.engine.serving.hedging import STUCK, HedgedRun, hedge_fate, hedging_run
from ironlaw.engine.serving.queues import Wait, md1, mm1
from ironlaw.engine.serving.samples import least_count, order_interval
from ironlaw.engine.serving.services import curve_mean, from_quantiles, two_kinds
from ironlaw.engine.serving.tails import fan_out_quantile
from ironlaw.engine.streams import split, uniform
from ironlaw.kit import settings
from ironlaw.labs.lab_14_tail import work
from ironlaw.measure.experiments import fan_out
from ironlaw.systems.fields import among, figure, hundredths, thousandths, whole

ASKED_SERVICE = 0.010  # seconds; the question's
SHARDS = 50  # simulated: a page asks as many as the dial says, each as independent as these
PAUSED = (8_000, 16)  # requests and shards of the run with a pause
PAUSED_MOVING = (3_000, 6)  # and while a dial moves: as long, and less smooth
MOVING = 3_000  # requests while a dial moves
RARE, TIMES = 0.01, 100.0  # of two kinds: one in a hundred takes a hundred times as long
OFF, ALL, BUDGET, CALLED_BACK = "off", "all", "budget", "called_back"
HEDGES = {OFF: "off", ALL: "unlimited", BUDGET: "capped", CALLED_BACK: "cancel the slower one"}
LEAVES = {
    "exponential": "exponential",
    "fixed": "all the same",
    "two": "one in a hundred is long",
    "here": "as measured here",
}
LAWS = {"exponential": mm1, "fixed": md1}  # of the line at one shard
LOADS = [10, 20, 30, 40, 45, 49, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95]  # percent
COUNTS = [1_000, 3_000, 10_000, 29_956]
PAUSES = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
Curve = tuple[float, ...]


@dataclass(frozen=True)
class Fleet:
    """`curve`: the service times measured here as quantiles. The defaults are the question's, without copies."""

    k: int = whole(100, "Shards per page", most=2000, dial="span", log=True, shows="tails")
    rho: float = figure(70.0, "Utilisation", "%", low=LOADS[0], high=LOADS[-1], dial="span", steps=LOADS, means=hundredths)
    hedge: str = among(HEDGES, OFF, "Hedging (send a backup request)", shows="over-time")
    quantile: float = figure(
        95,
        "Send the backup after this percentile",
        "%",
        low=50,
        high=99.9,
        dial="span",
        step=0.1,
        steps=[50, 75, 90, 95, 99, 99.9],
        means=hundredths,
    )
    budget: float = figure(
        5, "Backups, at most", "%", low=0, high=20, dial="span", steps=[0, 1, 2, 5, 10, 20], shows="over-time", means=hundredths
    )
    pause: float = figure(1.0, "Pause of all shards", "s", low=0, high=5, dial="span", step=0.1, steps=list(PAUSES), shows="over-time")
    leaf: str = among(LEAVES, "exponential", "Service times", dial="select")
    work: str = among(("asked", "device"), "asked", "Mean service time")
    n: int = whole(COUNTS[-1], "Requests counted", least=COUNTS[0], most=COUNTS[-1], dial="span", log=True, steps=COUNTS)
    target: float = figure(
        250, "Page's P99, at most", "ms", low=20, high=2000, dial="span", log=True, whole=True, shows="tails", means=thousandths
    )
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
    def alone(self) -> Wait | HedgedRun:
        """A shard without copies, in services."""
        return self._plain_law or self._without_copies(self.counted)

    @property
    def run(self) -> HedgedRun:
        """An ordinary day: as set, without a pause."""
        return self._run(self.counted, SHARDS)

    @property
    def paused(self) -> HedgedRun:
        return self.after_a_pause(self.pause)

    def after_a_pause(self, seconds: float) -> HedgedRun:
        return self._run(*(PAUSED_MOVING if self.moving else PAUSED), pause=seconds / self.service)

    def _run(self, n: int, shards: int, pause: float = 0.0) -> HedgedRun:
        return _run(self.leaf, self.curve, self.rho, n, shards, hedge=self.hedge, delay=self._delay, limit=self._limit, pause=pause)

    def _without_copies(self, n: int) -> HedgedRun:
        return _run(self.leaf, self.curve, self.rho, n, SHARDS)

    @property
    def _delay(self) -> float:
        """In services: the quantile of a day without copies, by the exact law of one shard's line where there is one."""
        if self.hedge == OFF:
            return 0.0
        return (self._plain_law or self._without_copies(COUNTS[-1])).quantile(self.quantile)

    @property
    def _plain_law(self) -> Wait | None:
        """The law of one shard's line without copies, in service times; None where no formula gives it."""
        return _law(self.leaf, self.rho) if self.leaf in LAWS else None

    @property
    def law(self) -> Wait | HedgedFleet | None:
        """As set, in services; with copies, of a fleet of very many shards that was never disturbed."""
        if self.hedge == OFF:
            return self._plain_law
        if self.hedge == CALLED_BACK:
            return cancelling_fleet(self.rho, self._delay) if self.leaf == "exponential" else None
        return _hedged(self.leaf, self.rho, self._delay, self.limit) if self.leaf in LAWS else None

    @property
    def copies(self) -> float:
        """Per request, without a pause."""
        return self.law.copies if isinstance(self.law, HedgedFleet) else self.run.extra if self.hedge != OFF else 0.0

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
        """Whether the run with a pause ends with half of the requests slower than 99% of an ordinary day without copies."""
        return stays_late(self, self.pause)

    @property
    def leaf_quantile(self) -> float:
        """The quantile of one shard that is the page's P99."""
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
        return (self.law or self.run).quantile(self.leaf_quantile) * self.service

    @property
    def spread(self) -> tuple[float, float | None]:
        """Between which a simulated P99 of the page lies, by rank: 95% for independent requests, about 90% for neighbours in a line.
        None where even the slowest of the run does not bound it."""
        low, high = order_interval(self.counted, self.leaf_quantile)
        ordered = self.run.ordered
        return ordered[(low or 1) - 1] * self.service, ordered[high - 1] * self.service if high else None

    @property
    def plain_p99(self) -> float:
        return self.alone.quantile(self.leaf_quantile) * self.service

    @property
    def leaf_p99(self) -> float:
        return (self.law or self.run).quantile(0.99) * self.service

    @property
    def gain(self) -> float:
        """What copies take off the page's P99, as a share."""
        return 1 - self.page_p99 / self.plain_p99

    @property
    def in_time(self) -> bool:
        return self.page_p99 <= self.target


def stays_late(fleet: Fleet, pause: float) -> bool:
    return fleet.after_a_pause(pause).stays_late(fleet._without_copies(MOVING))


@lru_cache(maxsize=96)
def _run(
    leaf: str, curve: Curve, rho: float, n: int, shards: int, *, hedge: str = OFF, delay: float = 0.0, limit: float = 0.0,
    pause: float = 0.0,
) -> HedgedRun:  # fmt: skip
    waits, works = (None if hedge == OFF else delay, None if limit < 0 else limit), _works(leaf, curve, n)
    return hedging_run(rho, *waits, hedge == CALLED_BACK, pause, service=1.0, shards=shards, n=n, works=works)


@lru_cache(maxsize=16)
def _works(leaf: str, curve: Curve, n: int) -> Sequence[float] | None:
    """2n service times of mean 1."""
    if leaf in ("exponential", "fixed"):
        return None if leaf == "exponential" else [1.0] * (2 * n)
    draws = uniform(split(0, 7), 2 * n)
    if leaf == "two":
        return two_kinds(draws, 1.0, RARE, TIMES)
    mean = curve_mean(curve)
    return [seconds / mean for seconds in from_quantiles(draws, curve)]


def here(lab: kit.Lab) -> Curve:
    """The times of the learner's own calls, as quantiles; empty where none were measured."""
    run = lab.local_run("fan_out")
    leaf = run.row(name=fan_out.LEAF) if run else None
    return tuple(map(float, leaf["params"]["quantiles"])) if leaf else ()


@lru_cache(maxsize=32)
def _law(leaf: str, rho: float) -> Wait:
    return LAWS[leaf](rho, 1.0)


@lru_cache(maxsize=32)
def _hedged(leaf: str, rho: float, delay: float, limit: float | None) -> HedgedFleet:
    return hedged_fleet(rho, delay, limit, LAWS[leaf])


def fleet_of(lab: kit.Lab, values: Mapping[str, Any]) -> Fleet:
    """The fleet that the dials set."""
    curve = here(lab) if values["leaf"] == "here" else ()
    service = curve_mean(curve) if curve else ASKED_SERVICE if values["work"] == "asked" else work.seconds(lab)
    return settings.read(Fleet, values, service=service, curve=curve, moving=bool(values.get("moving")))


def is_stuck(fleet: Fleet) -> bool:
    return fleet.fate == STUCK
