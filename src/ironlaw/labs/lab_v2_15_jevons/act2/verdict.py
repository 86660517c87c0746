"""Which limit a fleet's year hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_15_jevons.act2.plan import Plan, before
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.units import significant

SLO, SHORT, POWER, IDLE, WORKS = "slo", "short", "power", "idle", "works"
LEAST_BUSY = 0.3


def state(plan: Plan) -> str:
    """The first limit that a plan hits."""
    return hit(LIMITS, plan).name


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
    carbon = plan.carbon(plan.most)
    parts = {"the work itself": carbon.busy, "idle machines": carbon.idle, "making the machines": carbon.embodied}
    largest = max(parts, key=lambda name: parts[name])
    return {
        "part": largest,
        "share": kit.amount(100 * parts[largest] / carbon.total, "%", 2),
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
    fail(POWER, "The site can't supply the power", lambda plan: plan.fleet.peak_power > plan.feed, _power),
    warn(IDLE, "Most machines are idle", lambda plan: plan.fleet.utilisation(plan.least) < LEAST_BUSY, _idle),
    fail("backfire", "It backfires", lambda plan: plan.fleet.gain > 1 and plan.high > plan.fleet.threshold, _backfire),
    warn("over_budget", "Over the budget", lambda plan: plan.tonnes > given("budget"), _over),
    good(WORKS, "Within budget", _works),
)
