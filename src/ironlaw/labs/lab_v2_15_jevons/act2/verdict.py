"""Which limit a fleet's year hits, by how much, and the least change that would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

from ironlaw import kit
from ironlaw.labs.lab_v2_15_jevons.act2.plan import REGIONS, SERVERS, Plan, before
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.systems.limits import either, fail, good, hit, warn
from ironlaw.units import significant

SLO, SHORT, POWER, IDLE, WORKS = "slo", "short", "power", "idle", "works"
LEAST_BUSY = 0.3
SHOWN = 2  # changes that a banner names
Change = tuple[str, Callable[[Plan], Plan]]  # words, and what it does


@lru_cache(maxsize=8192)
def _servers(plan: Plan) -> str:
    return "1 server" if plan.servers == 1 else f"{plan.servers:,} servers"


def state(plan: Plan) -> str:
    """The first limit that a plan hits; kept, as many plans are tried for a remedy."""
    return hit(LIMITS, plan).name


def steps(plan: Plan) -> Iterator[tuple[str, list[Change]]]:
    """Dial -> its changes, the least first."""
    yield (
        "passed",
        [
            (f"{f'{100 * share:.0f} %' if share else 'none'} of the saving passed on", _set(passed=share))
            for share in (0.75, 0.5, 0.25, 0.0)
            if share < plan.passed
        ],
    )
    yield "pue", [(f"a PUE of {pue:g}", _set(pue=pue)) for pue in (1.1, 1.05) if pue < plan.pue]
    yield (
        "deferrable",
        [(f"{100 * share:.0f} % of the work that waits", _set(deferrable=share)) for share in (0.25, 0.5, 0.75) if share > plan.deferrable],
    )
    yield "region", [(f"the site on {name}", _set(region=region)) for region, name in REGIONS.items() if region != plan.region]
    yield "server", [(f"servers of {label[0]}", _set(server=key)) for key, label in SERVERS.items() if key != plan.server]


def _set(**change: object) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, **change)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def fixes(plan: Plan, pairs: bool = True) -> dict[str, Plan]:
    """Words -> a plan that works: one dial turned, or one with the fleet sized anew; where none does, two, if `pairs` are asked for."""
    found: dict[str, Plan] = {}
    options = list(steps(plan))
    for words, changed in [("", plan), *((words, change(plan)) for _, every in options for words, change in every)]:
        for one, size in ((changed, ""), (changed.sized, _servers(changed.sized))):
            if state(one) == WORKS and one != plan:
                found.setdefault(" with ".join(part for part in (words, size) if part), one)
                break
    if found or not pairs:
        return found
    for (_, first), (_, second) in combinations(options, 2):
        for words, change in second:
            if change(plan).p99 > plan.limit:
                continue
            worked = next(((other, one) for other, also in first if state(one := change(also(plan)).sized) == WORKS), None)
            if worked:
                found[f"{worked[0]} and {words}, with {_servers(worked[1])}"] = worked[1]
    return dict(sorted(found.items(), key=lambda each: each[1].model != plan.model))


def hint(plan: Plan, moving: bool) -> dict[str, object]:
    """What would do; while a dial is turned, two dials at once are not searched."""
    if state(plan) == WORKS:
        return {}
    nothing = "two dials at once" if moving else "no two dials; turn three"
    return {"cures": either(list(fixes(plan, pairs=not moving))[:SHOWN], nothing, "; ")}


def _slo(plan: Plan) -> dict[str, object]:
    return {"p99": kit.amount(plan.p99, "s"), "limit": kit.amount(plan.limit, "s")}


def _short(plan: Plan) -> dict[str, object]:
    needed = plan.fleet.needed(plan.most)
    return {"needed": significant(needed), "servers": f"{plan.servers:,}", "high": significant(plan.most)}


def _power(plan: Plan) -> dict[str, object]:
    return {"power": kit.amount(plan.fleet.peak_power, "W"), "feed": kit.amount(plan.feed, "W")}


def _idle(plan: Plan) -> dict[str, object]:
    carbon = plan.carbon(plan.least)
    return {
        "busy": kit.amount(100 * plan.fleet.utilisation(plan.least), "%"),
        "least": kit.amount(100 * LEAST_BUSY, "%"),
        "low": significant(plan.least),
        "rest": kit.amount(100 * (carbon.idle + carbon.embodied) / carbon.total, "%"),
    }


def _backfire(plan: Plan) -> dict[str, object]:
    return {
        "energy": kit.amount(100 * plan.fleet.energy(plan.high), "%"), "high": significant(plan.high),
        "threshold": significant(plan.fleet.threshold), "price": kit.amount(100 * plan.fleet.price, "%"),
    }  # fmt: skip


def _over(plan: Plan) -> dict[str, object]:
    return {
        "tonnes": kit.amount(plan.tonnes, "t"),
        "high": significant(plan.most),
        "over": kit.amount(plan.tonnes - given("budget"), "t"),
    }


def _works(plan: Plan) -> dict[str, object]:
    return {
        "tonnes": kit.amount(plan.tonnes, "t"), "high": significant(plan.most), "margin": kit.amount(given("budget") - plan.tonnes, "t"),
        "before": kit.amount(before(plan).tonnes, "t"),
    }  # fmt: skip


# demand is judged at the end of the band that is worse
LIMITS = (
    fail(SLO, "Tokens come too late", lambda plan: plan.p99 > plan.limit, _slo),
    fail(SHORT, "The fleet is too small", lambda plan: plan.fleet.utilisation(plan.most) > 1, _short),
    fail(POWER, "The site can't feed it", lambda plan: plan.fleet.peak_power > plan.feed, _power),
    warn(IDLE, "Most machines idle", lambda plan: plan.fleet.utilisation(plan.least) < LEAST_BUSY, _idle),
    fail("backfire", "It backfires", lambda plan: plan.fleet.gain > 1 and plan.high > plan.fleet.threshold, _backfire),
    warn("over_budget", "Over the budget", lambda plan: plan.tonnes > given("budget"), _over),
    good(WORKS, "It works", _works),
)
