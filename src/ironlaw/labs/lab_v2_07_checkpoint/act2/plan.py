"""Act II's settings -> what saves at two places cost, what they need, and what is left of the time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw.engine.cluster import two_levels
from ironlaw.engine.cluster.failures import Level, Shares, mtbf, optimum, young
from ironlaw.engine.cluster.spares import waiting
from ironlaw.engine.cluster.two_levels import Period
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_07_checkpoint.clusters import BOX, GPUS, HOUR, LARGE, MOST, RUN, bridge_rate, llama
from ironlaw.registry.boxes import box
from ironlaw.registry.runs import about
from ironlaw.systems.fields import among, figure, hundredths, times, whole

MINUTE = 60.0
FEWEST = 256  # GPUs of this act
NONE, HOST, NEIGHBOUR = "none", "host", "neighbour"
NEAR = {NONE: "nowhere", HOST: "host memory", NEIGHBOUR: "a neighbour's too"}
SYNC, ASYNC = "sync", "async"
SAVING = {SYNC: "until it is stored", ASYNC: "until it is in host memory"}
COPIES = {NONE: 0, HOST: 2, NEIGHBOUR: 4}  # the last whole one and the one in the making; for a neighbour as well
QUICKEST = 10  # seconds to notice a failure, and to start again
PER_PARAMETER = 14.0  # bytes: weights in BF16, a master copy and Adam's two in FP32


def storage_rate() -> float:
    """Bytes per second that Llama 3's file system sustained."""
    return float(about(RUN)["storage"]["sustained"])


@dataclass(frozen=True)
class Plan:
    """Where the dials of Act II stand; seconds, bytes, and bytes per second."""

    gpus: int = whole(label="GPUs", least=FEWEST, most=MOST, dial="span", log=True)
    unit: float = figure(label="One GPU fails every", unit="h", low=2000, high=500_000, dial="span", log=True, means=times(HOUR))
    parameters: float = figure(label="Parameters, in billions", low=1, high=2000, dial="span", log=True, means=times(1e9))
    bytes: float = figure(PER_PARAMETER, "Bytes saved per parameter", "B", low=6, high=18, dial="span", step=2)
    saving: str = among(SAVING, SYNC, "A far save stops the job")
    far_every: float = figure(60, "Far saves every", "min", low=0.1, high=1440, dial="span", log=True, means=times(MINUTE))
    near: str = among(NEAR, NONE, "Near copies in")
    near_every: float = figure(60, "Near copies every", "s", low=5, high=3600, dial="span", log=True)
    host_up: float = figure(60, "Failures that leave the host up", "%", low=0, high=99, dial="span", means=hundredths)
    one_host: float = figure(95, "Failures of at most one host", "%", low=0, high=99, dial="span", means=hundredths)
    pause: float = figure(1, "Pause around any save", "s", low=0.1, high=60, dial="span", log=True)
    detect: float = figure(120, "Time to detect a failure", "s", low=QUICKEST, high=1800, dial="span", log=True)
    restart: float = figure(180, "Time to restart", "s", low=QUICKEST, high=3600, dial="span", log=True)
    spares: int = whole(0, "Spare hosts", least=0, most=1024, dial="span")
    away: float = figure(  # 0: another takes a failed host's place at once
        24, "A failed host is away for", "h", low=0, high=168, dial="span", means=times(HOUR)
    )
    storage: float = figure(
        lambda: storage_rate() / 1e12, "File system rate", "TB/s", low=0.01, high=7, dial="span", log=True, means=times(1e12),
    )  # fmt: skip
    memory: float = figure(500, "Free memory per host", "GB", low=20, high=2000, dial="span", log=True, means=times(1e9))
    host: float = figure(bridge_rate() / 1e9, "Rate from GPU to host", "GB/s", low=1, high=500, dial="span", log=True, means=times(1e9))

    @property
    def between(self) -> float:
        return float(mtbf(self.unit, self.gpus))

    @property
    def boxes(self) -> float:
        return self.gpus / box(BOX).devices

    @property
    def state(self) -> float:
        return self.parameters * self.bytes

    @property
    def drain(self) -> float:
        """Until all of the state is in the file system."""
        return self.state / self.storage

    @property
    def copying(self) -> float:
        """Between every GPU and its host's memory, each its part."""
        return self.state / self.gpus / self.host

    @property
    def snapshot(self) -> float:
        """Until every GPU has its part in its host's memory, the pause with it."""
        return self.pause + self.copying

    @property
    def passing(self) -> float:
        """Until a neighbour has the copy of a box, over all its ports."""
        at = box(BOX)
        assert at.nic is not None
        return self.state / self.boxes / (at.nics * at.nic.achieved)

    @property
    def survives(self) -> float:
        """The share of failures that leave the near copy whole."""
        return {NONE: 0.0, HOST: self.host_up, NEIGHBOUR: self.one_host}[self.near]

    @property
    def copies(self) -> int:
        """The copies of the state in the hosts' memory; a save that drains needs one of its own where there is no near copy."""
        return COPIES[self.near] or int(self.saving == ASYNC)

    @property
    def held(self) -> float:
        """Bytes in the memory of one host."""
        return self.copies * self.state / self.boxes

    @property
    def levels(self) -> tuple[Level, Level]:
        """(near, far)"""
        return two_levels.levels(self.copying, self.drain, self.pause, self.detect + self.restart, self.saving == ASYNC)

    @property
    def period(self) -> Period:
        lag = self.drain if self.saving == ASYNC else 0.0
        near_every = math.inf if self.near == NONE else self.near_every
        return two_levels.period(*self.levels, near_every, self.far_every, self.survives, self.between, lag)

    @property
    def waiting(self) -> float:
        """The share of the time without a spare host; the others are shares of what is left."""
        return waiting(self.spares, self.between, self.away)

    @property
    def shares(self) -> Shares:
        return shares(self)

    @property
    def goodput(self) -> float:
        return float(self.shares.goodput)

    @property
    def at_best(self) -> Plan:
        """The same with each interval at its best: Young's for the failures that each place serves; one place alone, exactly."""
        near, far = self.levels
        if self.near == NONE or not 0.0 < self.survives < 1.0:
            return replace(self, far_every=max(optimum(far.save, self.between), self.least))
        often, seldom = young(near.save, self.between / self.survives), young(far.save, self.between / (1.0 - self.survives))
        return replace(self, near_every=float(often), far_every=max(float(seldom), self.least))

    @property
    def least(self) -> float:
        """The shortest far interval that the file system keeps up with; where the job waits, there is none."""
        return self.drain if self.saving == ASYNC else 0.0


@lru_cache(maxsize=4096)
def shares(plan: Plan) -> Shares:
    parts, up = two_levels.goodput(plan.period), 1.0 - plan.waiting
    return Shares(up * parts.goodput, up * parts.writing, up * parts.restart, up * parts.lost)


def premise() -> Plan:
    """The question's own job: eight times Llama 3's GPUs, far saves alone, at the best interval; a spare host is always there."""
    job = llama()
    plan = Plan(GPUS[LARGE], job.unit, job.parameters, away=0.0)
    return plan.at_best


def plan_of(values: Mapping[str, Any]) -> Plan:
    return settings.read(Plan, values)
