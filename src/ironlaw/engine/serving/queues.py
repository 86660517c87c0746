"""L = λW for anything that is stable; W = s·(1 + ρ(1 + c²)/(2(1 − ρ))) for one server and Poisson arrivals.

Times in seconds, rates per second. A queue that gets more than it can serve has no mean and no percentile: they are infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ironlaw.engine.device.types import check_positive
from ironlaw.engine.serving.fixed_service import FixedService, NewestFirst
from ironlaw.errors import BadValue

Tail = Callable[[float], float]  # seconds -> the share of requests that take longer


@dataclass(frozen=True)
class Wait:
    """How long requests take in a queue: `mean` and `tail` with their own service, `queue` and `queue_tail` before it begins."""

    rate: float
    service: float
    servers: int
    mean: float
    tail: Tail = field(repr=False, compare=False)
    queue_tail: Tail = field(repr=False, compare=False)

    @property
    def rho(self) -> float:
        """The share of the servers' time that is asked for."""
        return self.rate * self.service / self.servers

    @property
    def queue(self) -> float:
        """The mean seconds before service begins."""
        return self.mean - self.service

    @property
    def in_flight(self) -> float:
        """How many are in the system on average: L = λW."""
        return self.rate * self.mean

    def quantile(self, p: float) -> float:
        """The seconds that a share `p` of the requests stay within."""
        return _quantile(self.tail, p, self.rho, self.service)

    def queue_quantile(self, p: float) -> float:
        """The same for the wait before service."""
        return _quantile(self.queue_tail, p, self.rho, self.service)


def little(*, in_flight: float | None = None, rate: float | None = None, seconds: float | None = None) -> float:
    """L = λW: any two give the third."""
    given = {"in_flight": in_flight, "rate": rate, "seconds": seconds}
    known = {name: check_positive(name, value) for name, value in given.items() if value is not None}
    if len(known) != 2:
        raise BadValue(f"little got {', '.join(known) or 'nothing'}; give two of in_flight, rate, seconds and it returns the third")
    if in_flight is None:
        return float(known["rate"] * known["seconds"])
    return float(in_flight / (known["rate"] if seconds is None else known["seconds"]))


def mm1(rate: float, service: float) -> Wait:
    """Poisson arrivals, exponential service, one server: the time in the system is exponential with mean 1 / (μ − λ)."""
    rho = _load(rate, service)
    if rho >= 1:
        return _endless(rate, service)
    spare = 1.0 / service - rate
    return Wait(
        rate, service, 1, 1.0 / spare, lambda t: math.exp(-spare * max(t, 0.0)), lambda t: rho * math.exp(-spare * t) if t >= 0 else 1.0
    )


def erlang_b(servers: int, offered: float) -> float:
    """The share of requests that `servers` turn away where nobody waits; `offered` is rate × service."""
    check_positive("offered", offered)
    blocked = 1.0
    for c in range(1, _count(servers) + 1):
        blocked = offered * blocked / (c + offered * blocked)
    return blocked


def erlang_c(servers: int, offered: float) -> float:
    """The share of requests that find all servers busy and wait."""
    blocked = erlang_b(servers, offered)
    if offered >= servers:
        return 1.0
    return blocked / (1.0 - offered / servers * (1.0 - blocked))


def mmc(rate: float, service: float, servers: int) -> Wait:
    """One line for `servers`: Poisson arrivals, exponential service."""
    if _load(rate, service) >= _count(servers):
        return _endless(rate, service, servers)
    late, ends, spare = erlang_c(servers, rate * service), 1.0 / service, servers / service - rate
    slow, fast = min(ends, spare), max(ends, spare)

    def tail(t: float) -> float:
        if t <= 0:
            return 1.0
        gap = (fast - slow) * t
        both = t * math.exp(-slow * t) * (-math.expm1(-gap) / gap if gap else 1.0)  # the wait and the service, folded
        return math.exp(-ends * t) + late * ends * both

    return Wait(rate, service, servers, service + late / spare, tail, lambda t: late * math.exp(-spare * t) if t >= 0 else 1.0)


def md1(rate: float, service: float, order: str = "fifo") -> Wait:
    """Poisson arrivals, every request takes the same time, one server; the first to come is served first, or the last ("lifo")."""
    if order not in ("fifo", "lifo"):
        raise BadValue(f"M/D/1 has no order {order!r}; choose fifo or lifo", "order")
    if _load(rate, service) >= 1:
        return _endless(rate, service)
    line = FixedService(rate * service) if order == "fifo" else NewestFirst(rate * service)
    mean = mg1_mean(rate, service, 0.0)
    return Wait(rate, service, 1, mean, lambda t: line.tail(t / service - 1.0), lambda t: line.tail(t / service))


def mg1_mean(rate: float, service: float, cv2: float) -> float:
    """Pollaczek and Khinchine: the mean seconds with one server; `cv2` is the variance of the service over its mean squared."""
    return kingman(rate, service, 1.0, cv2)


def kingman(rate: float, service: float, ca2: float, cs2: float) -> float:
    """The mean seconds with one server, by Kingman: exact for Poisson arrivals (ca2 = 1), close to it in heavy traffic for others."""
    rho = _load(rate, service)
    spread = check_positive("ca2", ca2, zero=True) + check_positive("cs2", cs2, zero=True)
    return service * (1.0 + rho * spread / (2.0 * (1.0 - rho))) if rho < 1 else math.inf


def shortest_first_mean(rate: float, kinds: Sequence[tuple[float, float]]) -> float:
    """The mean seconds with one server where the shortest in line goes first, by Cobham; `kinds` are (share, seconds).

    A request waits for what is in service, and for all that is shorter: what is there, and what comes in the meantime.
    """
    shares = [
        (check_positive("share", share), check_positive("seconds", seconds)) for share, seconds in sorted(kinds, key=lambda kind: kind[1])
    ]
    if abs(sum(share for share, _ in shares) - 1) > 1e-9:
        raise BadValue(f"the shares of kinds are {[share for share, _ in shares]}; they must add up to 1", "kinds")
    in_service = rate * sum(share * seconds**2 for share, seconds in shares) / 2
    mean, ahead = 0.0, 0.0
    for share, seconds in shares:
        before, ahead = ahead, ahead + _load(rate, share * seconds)
        if ahead >= 1:
            return math.inf
        mean += share * (seconds + in_service / ((1 - before) * (1 - ahead)))
    return mean


def _load(rate: float, service: float) -> float:
    return float(check_positive("rate", rate) * check_positive("service", service))


def _count(servers: int) -> int:
    if isinstance(servers, bool) or not isinstance(servers, int) or servers < 1:
        raise BadValue(f"servers is {servers!r}; give a whole number of at least 1", "servers")
    return servers


def _endless(rate: float, service: float, servers: int = 1) -> Wait:
    return Wait(rate, service, servers, math.inf, lambda t: 1.0, lambda t: 1.0)


def _quantile(tail: Tail, p: float, rho: float, scale: float) -> float:
    """Where `tail` has fallen to 1 − p, by bisection."""
    if not 0 < p < 1:
        raise BadValue(f"the quantile is {p!r}; give a share between 0 and 1, such as 0.99", "p")
    if rho >= 1:
        return math.inf
    rest = 1.0 - p
    if tail(0.0) <= rest:
        return 0.0
    low, high = 0.0, scale
    while tail(high) > rest:
        low, high = high, 2.0 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if tail(middle) > rest else (low, middle)
    return high
