"""What users see of a chain of services, from what each of them does alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ironlaw.engine.serving.availability import downtime, in_series, replicated
from ironlaw.engine.serving.laws import KINDS, Hedged, Law, Retried, Slowest, law
from ironlaw.engine.serving.retries import attempts, largest_retries, stuck
from ironlaw.engine.serving.sums import total
from ironlaw.errors import BadValue
from ironlaw.systems.design_file import Design, read_table
from ironlaw.systems.fields import custom, figure, one_of, parameters, share, whole
from ironlaw.systems.question import Question, Table
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import RetryStorm, ServiceRow

MOST, MOST_SERVICES = 100, 10  # calls in a row; services, each of which is left out once
LEAST, NEAREST = 1e-6, 1e-9  # of a quantile, and of what is left to 1: closer to either, a sum's tail is lost in rounding


def read_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 100:
        raise BadValue(f'{value!r} is not a name; write up to 100 letters, such as "model"')
    return value.strip()


@dataclass(frozen=True)
class Service(Question):
    """One service of the chain, as designed."""

    name: str = custom(read_text, example='"model"')
    p99: float = figure(unit="s", example='"100 ms"', about="P99 latency of one call")
    law: str = one_of(lambda: KINDS, "exponential")
    shape: float = figure(1.0, example="1.0", about="standard deviation of the logarithm; for pareto, the tail index")
    calls: int = whole(1, about="calls one after the other")
    fan_out: int = whole(1, about="parallel calls; the slowest counts")
    hedge: float | None = share(None, about="send a second copy of a call after this quantile")
    timeout: float | None = figure(None, unit="s", example='"100 ms"')
    retries: int = whole(0, least=0)
    availability: float = share(1.0)
    replicas: int = whole(1)
    needed: int = whole(1)
    common: float = share(0.0, about="share of a replica's downtime that takes all of them down")


@dataclass(frozen=True)
class Link:
    """One service, with what its fan-out, copies and retries make of a call."""

    name: str
    law: Law
    calls: int
    hedge_load: float
    attempts: float
    available: float


def read_services(given: Any) -> tuple[Service, ...]:
    if not isinstance(given, (list, tuple)) or not given:
        raise BadValue('a design has at least one service; add `[[service]]` with `name = "model"` and `p99 = "100 ms"`', "service")
    if len(given) > MOST_SERVICES:
        raise BadValue(f"{len(given):,} services; give at most {MOST_SERVICES}, taking some together", "service")
    known = parameters(Service)
    return tuple(one if isinstance(one, Service) else Service(**read_table("service", one, known)) for one in given)


@dataclass(frozen=True, repr=False)
class Slo(Design):
    """Latency, availability and retries of a chain of services.

    >>> import ironlaw as il
    >>> s = il.slo(within="500 ms", service=[{"name": "gateway", "p99": "20 ms"}, {"name": "model", "p99": "300 ms"}])
    >>> s.met, round(s.latency_s, 3)
    (True, 0.304)
    """

    schema = "ironlaw-slo/1"
    within: float = figure(unit="s", group="promise", example='"500 ms"')
    service: tuple[Service, ...] = custom(read_services)
    quantile: float = share(0.99, group="promise")
    availability: float | None = share(None, group="promise")
    dependence: float = share(0.0, group="together", about="share of requests in which one cause slows all services at once")
    load: float | None = figure(None, group="together", example="0.6", about="load as a share of capacity, without retries")
    budget: float | None = share(None, group="together", about="most retries per request; leave it out for no limit")

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The whole chain, each service's part in it, and which SLOs hold."""
        within, p, services = self.within, self.quantile, [_link(one) for one in self.service]
        if not LEAST <= p <= 1 - NEAREST:
            raise BadValue(
                f"the SLO's quantile is {p!r}; give a share between 0 and 1, such as 0.99: at least {LEAST:.6f}, at most {1 - NEAREST:.9f}",
                "quantile",
            )
        if sum(one.calls for one in services) > MOST:
            raise BadValue(f"more than {MOST} calls in a row; give fewer", "calls")
        dependence = self.dependence
        chain = total(_laws(services), dependence)
        available = in_series([one.available for one in services])
        over, alone = chain.tail(within), [one.law.quantile(p) for one in services]
        result: dict[str, Any] = {
            "within_s": within, "quantile": p, "dependence": dependence, "latency_s": chain.quantile(p), "over": over, "late": over > 1 - p,
            "sum_of_quantiles_s": math.fsum(one.calls * t for one, t in zip(services, alone, strict=True)),
            "independent_s": total(_laws(services)).quantile(p), "together_s": total(_laws(services), 1.0).quantile(p),
            "fails": chain.fails,
            "services": [_part(one, t, services, dependence, p) for one, t in zip(services, alone, strict=True)],
            "availability": available, "downtime_s_per_year": downtime(available), "availability_promised": self.availability,
            "storm": _storm(self.load, self.budget, services),
        }  # fmt: skip
        result["down"] = self.availability is not None and available < self.availability
        result["met"] = not (result["late"] or result["down"] or (result["storm"] or {"stuck": False})["stuck"])
        return result

    @property
    def met(self) -> bool:
        return bool(self.answer["met"])

    @property
    def latency_s(self) -> float:
        """The latency at the SLO's quantile."""
        return float(self.answer["latency_s"])

    def table(self) -> Table:
        rows = [(one["name"], show(one["alone_s"], "s"), f"{one['availability']:.5g}") for one in self.answer["services"]]
        kept = "kept" if self.met else "broken"
        title = f"{show(self.latency_s, 's')} at {self.quantile:g}, available {self.answer['availability']:.5g}: {kept}"
        return Table(title, ("service", "alone", "available"), rows)


def _link(read: Service) -> Link:
    one: Law = law(read.law, read.p99, read.shape)
    if read.retries and read.timeout is None:
        raise BadValue(f'{read.name} retries but has no timeout; add `timeout = "400 ms"`, or leave retries out', "timeout")
    if read.hedge is not None and not 0.5 <= read.hedge < 1:
        raise BadValue(f"{read.name} hedges after the quantile {read.hedge:g}; give one from 0.5 to below 1, such as 0.95", "hedge")
    copies = 1 - read.hedge if read.hedge is not None else 0.0
    if read.hedge is not None:
        one = Hedged(one, one.quantile(read.hedge))
    late = one.tail(read.timeout) if read.timeout else 0.0
    if read.timeout:
        one = Retried(one, read.timeout, read.retries)
    if read.fan_out > 1:
        one = Slowest(one, read.fan_out)
    available = replicated(read.availability, read.replicas, read.needed, read.common)
    return Link(read.name, one, read.calls, copies, attempts(late, read.retries), available)


def _laws(services: list[Link]) -> list[Law]:
    return [one.law for one in services for _ in range(one.calls)]


def _part(one: Link, alone: float, services: list[Link], dependence: float, p: float) -> ServiceRow:
    """`without_s`: the latency of the whole if this service took no time, which is the most to be gained from it."""
    others = [other for other in services if other is not one]
    return {
        "name": one.name, "calls": one.calls, "alone_s": alone,
        "without_s": total(_laws(others), dependence).quantile(p) if others else 0.0,
        "hedge_load": one.hedge_load, "attempts": one.attempts, "availability": one.available, "fails": one.law.fails,
    }  # fmt: skip


def _storm(load: float | None, budget: float | None, services: list[Link]) -> RetryStorm | None:
    """Whether a retry storm sustains itself: if every answer is late, each service makes all its retries."""
    if load is None:
        return None
    retries = [_retries(one.law) for one in services]
    return {
        "load": load, "retries": max(retries), "budget": budget, "stuck": stuck(load, max(retries), budget),
        "harmless_retries": largest_retries(load), "nested_attempts": math.prod(r + 1 for r in retries),
    }  # fmt: skip


def _retries(one: Law) -> int:
    inner = one.law if isinstance(one, Slowest) else one
    return inner.retries if isinstance(inner, Retried) else 0
