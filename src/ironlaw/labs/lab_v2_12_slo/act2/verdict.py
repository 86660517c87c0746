"""Which promise a plan breaks, by how much, and the least change that keeps it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.availability import downtime
from ironlaw.engine.serving.retries import largest_retries
from ironlaw.labs.lab_v2_12_slo.act2.plan import (
    AFTER,
    BUDGETS,
    HEDGES,
    LATENCY,
    LINES,
    MOST_COPIES,
    MOST_REPLICAS,
    PROMISED,
    SERVICE,
    WITHIN,
    Plan,
)  # fmt: skip
from ironlaw.systems.limits import either, fail, good, hit, warn
from ironlaw.units import counted, percent, show, significant


def hint(plan: Plan, moving: bool) -> dict[str, object]:
    """What would do; not while a dial is turned, as each try is a run."""
    if hit(LIMITS, plan).tone == "good":
        return {}
    return {"cures": "let go of the dial to see" if moving else either(list(fixes(plan))[:4], "no single dial; turn two")}


def keeps(plan: Plan, name: str) -> bool:
    """Whether a plan keeps the promise that is named for its breach, whatever else it breaks."""
    promise = "slow_return" if name == "storm" else name  # either way it has to be back in time
    return not next(limit for limit in LIMITS if limit.name == promise).hit(plan)


def fixes(plan: Plan) -> dict[str, Plan]:
    """Words -> the plan with that one change, which keeps the promise that it breaks with all else as it is; the least of each kind."""
    name = hit(LIMITS, plan).name
    firsts = (next(((words, changed) for words, changed in tries if keeps(changed, name)), None) for tries in CHANGES[name](plan))
    return dict(first for first in firsts if first)


Tries = Iterable[tuple[str, Plan]]


def _loads(plan: Plan) -> Tries:
    rates = range(10 * math.ceil(plan.load / 10 - 1e-9) - 10, 0, -10)
    return ((f"{rate} requests per second", replace(plan, load=float(rate))) for rate in rates)


def _more_replicas(plan: Plan) -> Tries:
    return ((f"{count} replicas", replace(plan, replicas=count)) for count in range(plan.replicas + 1, MOST_REPLICAS + 1))


def _fewer_layers(plan: Plan) -> Tries:
    return ((f"{count} layers" if count > 1 else "one layer", replace(plan, layers=count)) for count in range(plan.layers - 1, 0, -1))


def _inverted(plan: Plan) -> list[Tries]:
    return [[(f"each caller waiting {significant(factor)} times as long", replace(plan, growth=factor)) for factor in (1.05, 1.1)]]


def _storm(plan: Plan) -> list[Tries]:
    """Few are tried: each is a run."""
    harmless = 100 * largest_retries(plan.share)
    budgets = [percent for percent in BUDGETS if 0 < percent <= harmless / 2]
    limits = [count for count in LINES if 0 < count * SERVICE < plan.timeout]
    return [
        [(f"a budget of {percent} % for retries", replace(plan, budget=percent / 100)) for percent in budgets[-1:]],
        [(f"a line of at most {count}", replace(plan, limit=count)) for count in limits[-1:]],
        [("no retries", replace(plan, retries=0))],
        _more_replicas(plan),
    ]


def _late(plan: Plan) -> list[Tries]:
    quantiles = [percent for percent in sorted(HEDGES, reverse=True) if percent and percent >= 100 * (1 - MOST_COPIES)]
    copies = [(f"a copy after {HEDGES[percent]}", replace(plan, hedge=percent / 100)) for percent in quantiles if plan.replicas > 1]
    return [_more_replicas(plan), _loads(plan), copies, _fewer_layers(plan)]


def _down(plan: Plan) -> list[Tries]:
    shares = range(10 * math.ceil(10 * plan.common - 1e-9) - 1, -1, -1)
    common = [(f"at most {percent} % of failures in common", replace(plan, common=percent / 100)) for percent in shares]
    return [_more_replicas(plan), common, _loads(plan), _fewer_layers(plan)]


def _costly(plan: Plan) -> list[Tries]:
    later = [percent for percent in HEDGES if percent and percent / 100 > (plan.hedge or 0)]
    return [
        [(f"a copy after {HEDGES[percent]}", replace(plan, hedge=percent / 100)) for percent in later],
        [("no copies", replace(plan, hedge=None))],
    ]


CHANGES = {
    "timeout_inversion": _inverted, "storm": _storm, "slow_return": _storm, "slo": _late, "availability": _down, "hedge_cost": _costly,
}  # fmt: skip


def _inverted_slots(plan: Plan) -> dict[str, object]:
    caller = plan.timeout * plan.growth
    return {"inner": kit.amount(plan.timeout, "s"), "caller": kit.amount(caller, "s"), "outer": kit.amount(plan.outer, "s")}


def _storm_slots(plan: Plan) -> dict[str, object]:
    return {
        "attempts": counted(round(plan.amplified), "attempt"), "sent": kit.amount(100 * plan.late_load, "%"),
        "last": kit.amount(100 * plan.course.last, "%"),
        "after": kit.amount(plan.after, "s"),
    }  # fmt: skip


def _slow_slots(plan: Plan) -> dict[str, object]:
    return {"sent": kit.amount(100 * plan.late_load, "%"), "after": kit.amount(AFTER, "s"), "last": kit.amount(100 * plan.course.last, "%")}


def _late_slots(plan: Plan) -> dict[str, object]:
    endless = math.isinf(plan.latency)
    return {
        "share": kit.amount(100 * WITHIN, "%"), "promise": kit.amount(LATENCY, "s"), "busy": kit.amount(100 * min(plan.calm.busy,
        99.0), "%"),
        "latency": "longer than anybody waits" if endless else kit.amount(plan.latency, "s"),
        "over": "without end" if endless else kit.times(plan.latency / LATENCY),
    }  # fmt: skip


def _down_slots(plan: Plan) -> dict[str, object]:
    return {
        "available": _nines(plan.available), "promise": _nines(PROMISED), "layers": plan.layers, "one": _nines(plan.layer_up),
        "needed": plan.needed, "replicas": plan.replicas, "down": kit.dress(show(downtime(plan.available), "s")),
        "allowed": kit.dress(show(downtime(PROMISED), "s")),
    }  # fmt: skip


def _costly_slots(plan: Plan) -> dict[str, object]:
    return {"copies": kit.amount(100 * plan.copies, "%"), "most": kit.amount(100 * MOST_COPIES, "%")}


def _works_slots(plan: Plan) -> dict[str, object]:
    return {
        "share": kit.amount(100 * WITHIN, "%"), "latency": kit.amount(plan.latency, "s"), "promise": kit.amount(LATENCY, "s"),
        "available": _nines(plan.available),
        "promised": _nines(PROMISED), "back": kit.amount(plan.course.back, "s"), "copies": kit.amount(100 * plan.copies, "%"),
    }  # fmt: skip


def _nines(share: float) -> kit.Markup:
    return kit.dress(percent(share, 6))


def _returns_late(plan: Plan) -> bool:
    return plan.course.back > plan.after


LIMITS = (
    fail(
        "timeout_inversion", "A caller gives up before the one it calls", lambda plan: plan.layers > 1 and plan.growth <= 1, _inverted_slots
    ),
    fail("storm", "It does not come back", lambda plan: plan.stuck and _returns_late(plan), _storm_slots),
    fail("slow_return", "It comes back too late", _returns_late, _slow_slots),
    fail("slo", "Too many wait too long", lambda plan: plan.latency > LATENCY, _late_slots),
    fail("availability", "It is down too often", lambda plan: plan.available < PROMISED, _down_slots),
    warn("hedge_cost", "Too many copies", lambda plan: plan.copies > MOST_COPIES + 1e-9, _costly_slots),
    good("works", "Every promise is kept", _works_slots),
)
