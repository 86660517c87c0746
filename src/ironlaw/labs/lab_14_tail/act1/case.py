"""One setting of Act I: a server that stops now and then, its users, and the tester beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.testers import Stalls, Test, back_fill, closed_loop, load, open_loop
from ironlaw.labs.lab_14_tail import work

PERCENTILES = (0.5, 0.9, 0.99, 0.999)
LARGEST = 29_956  # requests that bound one in ten thousand
MOVING = 10_000  # requests counted while a dial moves
MOST_FILLED = 40_000  # answers that filling in may add


@dataclass(frozen=True)
class Case:
    """`stopped`: the share of each period that the server stands still, at its end. The defaults are the question's."""

    rate: float = 100.0
    service: float = 0.001
    period: float = 10.0
    stopped: float = 0.1
    connections: int = 1
    n: int = 10_000
    corrected: bool = False

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
        """As it reports: corrected where that is asked for."""
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
    """Filled in; where that would be too many, of every so many requests only."""
    seconds, interval = _polite(rate, service, stalls, n, connections).seconds, 1 / rate
    step = 1 + int(sum(value / interval for value in seconds if value > interval) / MOST_FILLED)
    return Test((), back_fill(seconds[::step], interval))


def case_of(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    """Of the dials."""
    service = {"asked": Case.service, "device": work.seconds(lab), "own": values["service"] / 1e3}[values["work"]]
    return Case(
        values["rate"], service, values["period"], values["stopped"] / 100, round(values["connections"]),
        min(round(values["n"]), MOVING if values.get("moving") else LARGEST),
        bool(values["corrected"]),
    )  # fmt: skip


def tene() -> Case:
    """Gil Tene's example: perfect for a hundred seconds, frozen for a hundred."""
    return Case(period=200.0, stopped=0.5, n=20_000)
