"""Servers whose power others published, and a fleet of them under a trace: engine.fleets with the registry's figures."""

from __future__ import annotations

import math
from functools import cache

from ironlaw.engine.fleets import Fleet, Server
from ironlaw.errors import BadRegistry
from ironlaw.registry import evidence
from ironlaw.registry.prices import price
from ironlaw.registry.publications import published
from ironlaw.registry.traces import trace

TABLE = "ml_energy_power"
TRACE = "azure_chat_2023"
IDLE = "h200_sxm/decode_power"  # of the devices here, the one whose idle draw was measured
HOURS = 24


@cache
def energy_server(machine: str, model: str, limit: int) -> Server:
    """One row of the published table, at the registry's price of the machine."""
    rows = published(TABLE).where(machine=machine, model=model, limit=limit)
    cost = price(machine)
    if len(rows) != 1 or cost is None:
        known = ", ".join(f"{row['machine']} {row['model']} {row['limit']:g}" for row in published(TABLE).rows)
        raise BadRegistry(f"no server {machine} {model} {limit} with power and price; choose one of {known}")
    row = rows[0]
    return Server(int(row["devices"]), float(row["power"]), float(row["rate"]), cost.per_hour)


@cache
def idle_power() -> float:
    """Watts of an idle GPU with a model in memory, measured."""
    return float(evidence.file(IDLE).rows[0].extra["idle_watts"])


def tokens_per_second(requests: float, name: str = TRACE) -> float:
    """New tokens of so many requests per second, each of the trace's mean length."""
    return requests * trace(name).output.mean


def daily_profile(night: float, sun: float) -> tuple[float, ...]:
    """Grams per kWh, hour by hour: `night` in the dark, at noon a share `sun` less, between them as the sun stands (six to six)."""
    return tuple(night * (1 - sun * max(0.0, math.sin(math.pi * (hour + 0.5 - 6) / 12))) for hour in range(HOURS))


def fleet_year(
    machine: str, model: str, limit: int, *, tokens: float, servers: int, night: float, sun: float = 0.0,
    before: tuple[str, str, int] = ("h100_sxm", "llama3_70b", 64), pue: float = 1.2, pue_before: float = 1.2, **more: float,
) -> Fleet:  # fmt: skip
    """A fleet that served with `before`, and serves with this now; `more`: further fields of `Fleet`."""
    return Fleet(
        energy_server(*before), energy_server(machine, model, limit), tokens, servers, daily_profile(night, sun), idle_power(), pue_before,
        pue, **more,
    )  # fmt: skip
