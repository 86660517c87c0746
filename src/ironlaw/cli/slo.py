"""`ironlaw slo`: what a user sees of services in a row, from what each of them promises alone."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

from ironlaw.cli import design_file
from ironlaw.cli.design_file import Field, count, figure, one_of, read_table, refuse_tables, share, text, whole
from ironlaw.cli.options import Parser
from ironlaw.cli.show import draw, promises
from ironlaw.engine.serving.availability import downtime, in_series, replicated
from ironlaw.engine.serving.laws import KINDS, Hedged, Law, Retried, Slowest, law
from ironlaw.engine.serving.retries import attempts, largest_retries, stuck
from ironlaw.engine.serving.sums import total
from ironlaw.errors import BadValue

EXAMPLE = """
ironlaw slo --example
ironlaw slo design.toml
"""
DESIGN = """# Services that a request passes one after the other, and what was promised to the user.
[promise]
within = "500 ms"
quantile = 0.99
availability = 0.9995       # may be left out

[together]                  # may be left out
dependence = 0.2            # share of requests in which one cause makes all services slow at once
load = 0.6                  # of what the services can do, without retries
budget = 0.2                # retries per request, at most; left out: no limit

[[service]]
name = "gateway"
p99 = "20 ms"               # of one call
availability = 0.9999

[[service]]
name = "retrieval"
law = "lognormal"           # or exponential (the default), pareto
shape = 1.0                 # spread of the logarithm; for pareto, the index
p99 = "100 ms"
fan_out = 20                # calls at once; the slowest counts
hedge = 0.95                # a copy of each call after this quantile
availability = 0.999
replicas = 2
common = 0.1                # share of a replica's downtime that takes all of them down

[[service]]
name = "model"
p99 = "150 ms"
calls = 2                   # one after the other
timeout = "400 ms"
retries = 2
availability = 0.999
replicas = 3
common = 0.05
"""
TIME = figure("s", example='"100 ms"')
SERVICE: design_file.Table = {
    "name": Field(text, example='"model"'), "law": Field(one_of(KINDS), "exponential"), "shape": Field(figure(example="1.0"), 1.0),
    "p99": Field(TIME, example='"100 ms"'), "calls": Field(count, 1), "fan_out": Field(count, 1), "hedge": Field(share, None),
    "timeout": Field(TIME, None), "retries": Field(whole, 0), "availability": Field(share, 1.0), "replicas": Field(count, 1),
    "needed": Field(count, 1), "common": Field(share, 0.0),
}  # fmt: skip
PROMISE: design_file.Table = {"within": Field(TIME, example='"500 ms"'), "quantile": Field(share, 0.99), "availability": Field(share, None)}
TOGETHER: design_file.Table = {"dependence": Field(share, 0.0), "load": Field(figure(example="0.6"), None), "budget": Field(share, None)}
MOST = 100  # calls in a row


@dataclass(frozen=True)
class Service:
    """One service of the chain, as designed."""

    name: str
    law: Law  # of a call with its fan-out, copies and retries
    calls: int
    hedge_load: float
    attempts: float
    available: float


def add(parser: Parser) -> None:
    design_file.add(parser, "slo")


def run(args: argparse.Namespace) -> int:
    if args.example and not args.file:
        print(DESIGN, end="")
        return 0
    data = design_file.raw(args, "slo")
    refuse_tables(data, ("promise", "together", "service"))
    given = data.get("service")
    if not isinstance(given, list) or not given:
        raise BadValue('a design has at least one service; add `[[service]]` with `name = "model"` and `p99 = "100 ms"`', "service")
    services = [service(read_table("service", one, SERVICE)) for one in given]
    together = read_table("together", data.get("together", {}), TOGETHER)
    result = answer(read_table("promise", data.get("promise"), PROMISE), together, services)
    draw.emit(result, "ironlaw-slo/1") if args.json else promises.report(result)
    return 0 if result["met"] else 1


def service(read: dict[str, Any]) -> Service:
    one = law(read["law"], read["p99"], read["shape"])
    if read["retries"] and read["timeout"] is None:
        raise BadValue(f'{read["name"]} tries again and has no timeout; add `timeout = "400 ms"`, or leave retries out', "timeout")
    if read["hedge"] is not None and not 0.5 <= read["hedge"] < 1:
        raise BadValue(f"{read['name']} hedges after the quantile {read['hedge']:g}; give one from 0.5 to below 1, such as 0.95", "hedge")
    copies = 1 - read["hedge"] if read["hedge"] is not None else 0.0
    if copies:
        one = Hedged(one, one.quantile(read["hedge"]))
    late = one.tail(read["timeout"]) if read["timeout"] else 0.0
    if read["timeout"]:
        one = Retried(one, read["timeout"], read["retries"])
    if read["fan_out"] > 1:
        one = Slowest(one, read["fan_out"])
    available = replicated(read["availability"], read["replicas"], read["needed"], read["common"])
    return Service(read["name"], one, read["calls"], copies, attempts(late, read["retries"]), available)


def answer(promise: dict[str, Any], together: dict[str, Any], services: list[Service]) -> dict[str, Any]:
    """What the whole does, each service's part in it, and which promises hold."""
    within, p = promise["within"], promise["quantile"]
    if not 0 < p < 1:
        raise BadValue(f"a promise at the quantile {p!r}; give a share between 0 and 1, such as 0.99", "quantile")
    if sum(one.calls for one in services) > MOST:
        raise BadValue(f"more than {MOST} calls in a row; give fewer", "calls")
    dependence = together["dependence"]
    chain = total(_laws(services), dependence)
    available = in_series([one.available for one in services])
    over, alone = chain.tail(within), [one.law.quantile(p) for one in services]
    result: dict[str, Any] = {
        "within_s": within, "quantile": p, "dependence": dependence, "latency_s": chain.quantile(p), "over": over, "late": over > 1 - p,
        "sum_of_quantiles_s": math.fsum(one.calls * t for one, t in zip(services, alone, strict=True)),
        "independent_s": total(_laws(services)).quantile(p), "together_s": total(_laws(services), 1.0).quantile(p), "fails": chain.fails,
        "services": [_part(one, t, services, dependence, p) for one, t in zip(services, alone, strict=True)],
        "availability": available, "downtime_s_per_year": downtime(available), "availability_promised": promise["availability"],
        "storm": _storm(together["load"], together["budget"], services),
    }  # fmt: skip
    result["down"] = promise["availability"] is not None and available < promise["availability"]
    result["met"] = not (result["late"] or result["down"] or (result["storm"] or {"stuck": False})["stuck"])
    return result


def _laws(services: list[Service]) -> list[Law]:
    return [one.law for one in services for _ in range(one.calls)]


def _part(one: Service, alone: float, services: list[Service], dependence: float, p: float) -> dict[str, Any]:
    """`without_s`: the whole if this service took no time: what there is to gain from it."""
    others = [other for other in services if other is not one]
    return {
        "name": one.name, "calls": one.calls, "alone_s": alone,
        "without_s": total(_laws(others), dependence).quantile(p) if others else 0.0,
        "hedge_load": one.hedge_load, "attempts": one.attempts, "availability": one.available, "fails": one.law.fails,
    }  # fmt: skip


def _storm(load: float | None, budget: float | None, services: list[Service]) -> dict[str, Any] | None:
    """Where every answer is late, each service makes all its retries: whether that keeps itself up."""
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
