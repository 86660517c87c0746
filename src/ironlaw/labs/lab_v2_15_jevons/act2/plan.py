"""Act II's settings -> a fleet's year: servers that were measured, grids of the story, and a band of elasticities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.fleets import Carbon, Fleet
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_15_jevons.fleets import SAVED, SERVING
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.registry.publications import published
from ironlaw.registry.traces import trace
from ironlaw.systems.energy_fleets import TRACE, fleet_year, tokens_per_second
from ironlaw.systems.fields import among, figure, hundredths, times, whole

TONNE, KILO, MS = 1e6, 1e3, 1e-3
BEFORE = "70b-64"
# the rows of the published table: (label, machine, model, sequences at once)
SERVERS = {
    "70b-8": ("70B, 4 H100, 8 at once", "h100_sxm", "llama3_70b", 8),
    "70b-64": ("70B, 4 H100, 64 at once", "h100_sxm", "llama3_70b", 64),
    "70b-512": ("70B, 4 H100, 512 at once", "h100_sxm", "llama3_70b", 512),
    "70b-1024": ("70B, 4 H100, 1,024 at once", "h100_sxm", "llama3_70b", 1024),
    "70b-b200-128": ("70B, 2 B200, 128 at once", "b200", "llama3_70b", 128),
    "70b-b200-256": ("70B, 2 B200, 256 at once", "b200", "llama3_70b", 256),
    "8b-64": ("8B, one H100, 64 at once", "h100_sxm", "llama3_8b", 64),
    "8b-512": ("8B, one H100, 512 at once", "h100_sxm", "llama3_8b", 512),
}
LARGER = {  # the same server with larger batches
    "70b-8": "70b-512", "70b-64": "70b-512", "70b-512": "70b-1024", "70b-b200-128": "70b-b200-256", "8b-64": "8b-512",
}  # fmt: skip
HYDRO, SUN, GAS, COAL = "hydro", "sun", "gas", "coal"
REGIONS = {SUN: "gas and sun", HYDRO: "hydro", GAS: "gas", COAL: "coal"}
MOST = 4000  # servers
SPARE = 0.8  # busy share that a fleet is sized for


def story_requests() -> float:
    return given("growth") * trace(TRACE).rate


@dataclass(frozen=True)
class Plan:
    """Where the dials of Act II stand; shares from 0 to 1, seconds, requests per second."""

    server: str = among(tuple(SERVERS), BEFORE, "Servers", dial="select", shown=lambda key: SERVERS[key][0])
    servers: int = whole(0, "Number of servers", least=1, most=MOST, dial="span", log=True)
    region: str = among(REGIONS, SUN, "Grid at the site")
    passed: float = figure(100, "Savings passed on to the price", "%", low=0, high=100, dial="span", step=5, means=hundredths)
    low: float = figure(0.5, "Elasticity, at least", low=0, high=3, dial="span", step=0.05)
    high: float = figure(lambda: given("second"), "Elasticity, at most", low=0, high=3, dial="span", step=0.05)
    deferrable: float = figure(0, "Work that can wait for a clean hour", "%", low=0, high=100, dial="span", step=5, means=hundredths)
    pue: float = figure(lambda: given("pue"), "The building's PUE", low=1, high=2, dial="span", step=0.05)
    years: float = figure(lambda: given("kept"), "Years machines are kept", low=1, high=10, dial="span")
    limit: float = figure(
        lambda: given("limit"), "99 of 100 tokens within", "ms", low=20, high=1000, dial="span", step=5, log=True, means=times(MS)
    )
    requests: float = figure(story_requests, "Requests per second, at the old price", low=10, high=10_000, dial="span", log=True)

    @property
    def fleet(self) -> Fleet:
        return fleet(self)

    @property
    def p99(self) -> float:
        return p99(self.server)

    @property
    def model(self) -> str:
        return SERVERS[self.server][2]

    @property
    def feed(self) -> float:
        """Watts."""
        return KILO * given(f"{self.region}_feed")

    def carbon(self, elasticity: float) -> Carbon:
        return self.fleet.carbon(elasticity)

    @property
    def most(self) -> float:
        """The end of the band at which most is asked for: the upper one, unless tokens became more expensive."""
        return self.high if self.fleet.price <= 1 else self.low

    @property
    def least(self) -> float:
        return self.low if self.fleet.price <= 1 else self.high

    @property
    def tonnes(self) -> float:
        """The tonnes of the year in which most is asked for."""
        return self.carbon(self.most).total / TONNE

    @property
    def sized(self) -> Plan:
        """The same with as many servers as are needed where most is asked for, and some to spare."""
        return replace(self, servers=max(1, math.ceil(self.fleet.needed(self.most) / SPARE)))


@cache
def p99(server: str) -> float:
    """Seconds between tokens, within which 99 of 100 come."""
    _, machine, model, limit = SERVERS[server]
    return float(published("ml_energy_power").value("p99", machine=machine, model=model, limit=limit))


def night(region: str) -> float:
    return given(GAS if region == SUN else region)


@lru_cache(maxsize=4096)
def fleet(plan: Plan) -> Fleet:
    _, machine, model, limit = SERVERS[plan.server]
    return fleet_year(
        machine, model, limit, tokens=tokens_per_second(plan.requests), servers=plan.servers, night=night(plan.region),
        sun=given(SUN) / 100 if plan.region == SUN else 0.0, pue=plan.pue, pue_before=given("pue"), kwh=given("cents") / 100,
        pass_through=plan.passed, deferrable=plan.deferrable, embodied=KILO * given("embodied"), years=plan.years,
    )  # fmt: skip


def premise() -> Plan:
    """The question's own fleet, before anything is changed."""
    return Plan(servers=round(given("servers")), low=given("second"))


def changes(plan: Plan) -> dict[str, Plan]:
    """Option of the question -> a fleet with that one change."""
    return {
        "batch": replace(plan, server=LARGER.get(plan.server, plan.server)),
        "cooling": replace(plan, pue=min(plan.pue, given("pue_good"))),
        "wait": replace(plan, deferrable=max(plan.deferrable, given("waits") / 100)),
        "keep": replace(plan, years=2 * plan.years),
    }


def before(plan: Plan) -> Plan:
    """The story's fleet under the same requests and grid: what a plan is compared with."""
    count = max(1, round(given("servers") * plan.requests / story_requests()))
    return replace(premise(), requests=plan.requests, region=plan.region, servers=count, low=plan.low, high=plan.high)


def earlier_rate(lab: kit.Lab) -> float | None:
    """Requests per second of the server that Lab V2-10 saved."""
    rate = (lab.ledger.design(SERVING) or {}).get("rate")
    return float(rate) if isinstance(rate, (int, float)) and not isinstance(rate, bool) and rate > 0 else None


def requests_of(lab: kit.Lab) -> float:
    """The rate of the context: the saved server's, as often as the story multiplies the trace; else the story's own."""
    rate = earlier_rate(lab) if lab.current_context.slug == SAVED else None
    return min(10_000.0, max(10.0, given("growth") * rate)) if rate else story_requests()


def plan_of(values: Mapping[str, Any]) -> Plan:
    low, high = sorted((float(values["low"]), float(values["high"])))
    return settings.read(Plan, values, low=low, high=high)
