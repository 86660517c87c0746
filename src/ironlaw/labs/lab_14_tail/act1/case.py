"""One setting of Act I: a server that stops now and then, its users, and the tester beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.load_testers import Stalls, Test, back_fill, closed_loop, load, open_loop
from ironlaw.kit import settings
from ironlaw.labs.lab_14_tail import work
from ironlaw.systems.fields import among, figure, hundredths, switch, thousandths, whole

PERCENTILES = (0.5, 0.9, 0.99, 0.999)
LARGEST = 29_956  # requests that bound one in ten thousand
MOVING = 10_000  # requests counted while a dial moves
COUNTS = (100, 200, 300, 368, 1_000, 2_995, 10_000, LARGEST)
FAR = 2.0  # the tester is wrong where the users' P99 is this many times as long
MOST_FILLED = 40_000  # answers that filling in may add


@dataclass(frozen=True)
class Case:
    """`stopped`: the share of each period that the server stands still, at its end. The defaults are the question's."""

    rate: float = figure(100.0, "User requests", "/s", low=10, high=1000, dial="span", log=True, whole=True, column="number")
    work: str = among(("asked", "device", "own"), "asked", "Time per request")
    service: float = figure(1, "Service time", "ms", low=0.1, high=50, dial="span", step=0.1, log=True, means=thousandths)
    stopped: float = figure(10.0, "Stopped, share of the time", "%", zero=True, low=0, high=60, dial="span", means=hundredths)
    period: float = figure(10.0, "One stall in every", "s", low=1, high=200, dial="span", log=True, whole=True)
    connections: int = whole(1, "Connections of the tester", most=64, dial="span", log=True)
    n: int = whole(10_000, "Requests counted", least=COUNTS[0], most=LARGEST, dial="span", log=True, presets=list(COUNTS[2:]))
    corrected: bool = switch(False, "Fill in what the tester left out")

    @property
    def stall(self) -> float:
        return self.stopped * self.period

    @property
    def stalls(self) -> Stalls:
        return Stalls(self.stall, self.period, self.period - self.stall)

    @property
    def load(self) -> float:
        """From 1 on the users' line never ends."""
        return load(self.rate, self.service, self.stalls)

    @property
    def users(self) -> Test:
        return _users(self.rate, self.service, self.stalls, self.n)

    @property
    def tester(self) -> Test:
        """The tester as it reports, corrected if that is asked for."""
        if not self.corrected:
            return self.polite
        return _filled(self.rate, self.service, self.stalls, self.n, self.connections)

    @property
    def polite(self) -> Test:
        return _polite(self.rate, self.service, self.stalls, self.n, self.connections)

    @property
    def unsent(self) -> int:
        """Requests that were due while the tester waited, and were never sent."""
        return max(0, round(self.polite.sent[-1] * self.rate) + 1 - self.n)

    def is_missed(self) -> bool:
        return self.users.quantile(0.99) > FAR * self.tester.quantile(0.99)

    def is_overfilled(self) -> bool:
        return self.tester.quantile(0.99) > FAR * self.users.quantile(0.99)

    @property
    def saw_a_stall(self) -> bool:
        return self.stall > 0 and self.polite.sent[-1] + self.polite.seconds[-1] > self.stalls.first


@lru_cache(maxsize=32)
def _users(rate: float, service: float, stalls: Stalls, n: int) -> Test:
    return open_loop(rate, service, stalls, n)


@lru_cache(maxsize=32)
def _polite(rate: float, service: float, stalls: Stalls, n: int, connections: int) -> Test:
    return closed_loop(rate, service, stalls, n, connections)


@lru_cache(maxsize=8)
def _filled(rate: float, service: float, stalls: Stalls, n: int, connections: int) -> Test:
    """The test with its missing requests filled in; where those would be too many, a regular sample of them."""
    seconds, interval = _polite(rate, service, stalls, n, connections).seconds, 1 / rate
    step = 1 + int(sum(value / interval for value in seconds if value > interval) / MOST_FILLED)
    return Test((), back_fill(seconds[::step], interval))


def case_of(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    """The case that the dials set."""
    service = {"asked": Case.service, "device": work.seconds(lab), "own": thousandths(values["service"])}[values["work"]]
    return settings.read(Case, values, service=service, n=min(round(values["n"]), MOVING if values.get("moving") else LARGEST))


def tene() -> Case:
    """Gil Tene's example: perfect for a hundred seconds, frozen for a hundred."""
    return Case(period=200.0, stopped=0.5, n=20_000)
