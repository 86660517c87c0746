"""Act I's settings -> where the time goes at every interval: the engine's laws, kept per setting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw.engine.cluster import renewals
from ironlaw.engine.cluster.failures import Shares, daly, draw, mtbf, young
from ironlaw.engine.cluster.job_timeline import Stretch, strip
from ironlaw.labs.lab_v2_07_checkpoint.clusters import FEWEST, HOUR, MOST
from ironlaw.systems.fields import among, figure, times, whole

MINUTE, DAY = 60.0, 86400.0
SHORTEST, LONGEST = 0.1, 1440.0  # minutes between saves
GRID = tuple(SHORTEST * (LONGEST / SHORTEST) ** (i / 72) for i in range(73))
LAWS = {renewals.RANDOM: "at random", renewals.BUNCHED: "in bunches", renewals.WORN: "by wear"}
NEAR = 1.1  # waste that counts as near the best
SEED = 6


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand, in seconds."""

    gpus: int = whole(label="GPUs", least=FEWEST, most=MOST, dial="span", log=True)
    unit: float = figure(label="One GPU fails every", unit="h", low=2000, high=500_000, dial="span", log=True, means=times(HOUR))
    save: float = figure(60, "Time of a save", "s", low=0.1, high=3600, dial="span", log=True)
    restart: float = figure(5, "Time to detect and restart", "min", low=0, high=120, dial="span", means=times(MINUTE))
    interval: float = figure(60, "Save every", "min", low=SHORTEST, high=LONGEST, dial="span", log=True, means=times(MINUTE))
    law: float = among(LAWS, renewals.RANDOM, "Failures come")

    @property
    def between(self) -> float:
        return float(mtbf(self.unit, self.gpus))

    @property
    def shares(self) -> Shares:
        return shares(self)

    @property
    def wasted(self) -> float:
        return 1.0 - float(self.shares.goodput)

    @property
    def best(self) -> float:
        """Seconds; exact at random, else found."""
        return best(replace(self, interval=1.0))

    @property
    def estimates(self) -> dict[str, float]:
        """Young's and Daly's intervals, which know failures at random alone."""
        return {"Young": float(young(self.save, self.between)), "Daly": float(daly(self.save, self.between))}

    def at(self, interval: float) -> Setting:
        return replace(self, interval=interval)

    @property
    def day(self) -> tuple[Stretch, ...]:
        return day(self)


@lru_cache(maxsize=4096)
def shares(setting: Setting) -> Shares:
    return renewals.goodput(setting.interval, setting.save, setting.restart, setting.between, setting.law)


@lru_cache(maxsize=256)
def best(setting: Setting) -> float:
    return renewals.optimum(setting.save, setting.restart, setting.between, setting.law)


@lru_cache(maxsize=32)
def day(setting: Setting) -> tuple[Stretch, ...]:
    moments = draw(SEED, setting.between, DAY, setting.law)
    return tuple(strip(moments, setting.interval, setting.save, setting.restart, DAY))


@lru_cache(maxsize=128)
def band(setting: Setting, allowed: float) -> tuple[float, float]:
    """Seconds from and to which the waste is at most `allowed`, around the best interval."""
    ends = (SHORTEST * MINUTE / 10, LONGEST * MINUTE)
    return renewals.band(allowed, ends, setting.best, setting.save, setting.restart, setting.between, setting.law)


def near_best(setting: Setting) -> tuple[float, float]:
    """The intervals that cost at most a tenth more of the waste that no interval avoids: restarts are left out."""
    base = float(setting.shares.restart)
    return band(setting.at(1.0), base + NEAR * (setting.at(setting.best).wasted - base))
