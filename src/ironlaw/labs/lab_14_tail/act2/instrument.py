"""Act II: pages of many shards, and copies for the late. Dials, readouts and formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.context import the
from ironlaw.kit.formula import line
from ironlaw.labs.lab_14_tail.act2 import figures, fleet, verdicts
from ironlaw.labs.lab_14_tail.act2.fleet import ALL, BUDGET, CALLED_BACK, OFF, Fleet, fleet_of
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed
from ironlaw.widget.quantities import format_quantity

CLAIMS = ("leaf_table", "bigtable_hedge", "hedge_costs_5")
LAB_13 = "lab_13_line"
MORE = ("leaf", "work", "n", "target")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        hedge = values.get("hedge", ALL)
        unmeasured = {} if fleet.here(lab) else {"here": "measure “This machine's own tail” below first"}
        works = {"asked": "as in the question", "device": f"one image on {the(lab.current_context)}"}
        return settings.dials(
            Fleet,
            hedge={"value": ALL},
            quantile={"hidden": hedge == OFF},
            budget={"hidden": hedge != BUDGET},
            leaf={"disabled": unmeasured},
            work={"options": works, "hidden": values.get("leaf") == "here"},
        )

    return dials_at


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The load of Lab 13's server, where the learner saved one that keeps up."""
    load = (lab.ledger.design(LAB_13) or {}).get("load")
    if not isinstance(load, (int, float)) or not 0 < load < 1:
        return []
    return [kit.Offer(LAB_13, f"server ({significant(100 * load, 2)}% load)", {"rho": 100 * load})]


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    set_at = fleet_of(lab, values)
    mine, level = verdicts.prediction(lab)
    pictures = [tabbed(figures.over_time(set_at, mine, level), "Over time"), tabbed(figures.tails(set_at), "Tails")]
    return kit.View(pictures, cards(set_at), formula(set_at), verdicts.banner(lab, set_at), verdicts.notes(lab, set_at), readouts(set_at))


def readouts(set_at: Fleet) -> dict[str, Any]:
    hedges = set_at.hedge != OFF
    return {
        "shards": set_at.k, "utilisation": round(set_at.rho, 4), "hedge": set_at.hedge,
        "hedge_quantile": set_at.quantile if hedges else None, "hedge_budget": set_at.limit if hedges else 0.0,
        "page_p99_s": round(set_at.page_p99, 6) if set_at.known and math.isfinite(set_at.page_p99) else None,
        "leaf_percentile": round(100 * set_at.leaf_quantile, 6),
        "requests_counted": set_at.n, "fate": set_at.fate, "constraint_hit": settings.broken(verdicts.LIMITS, set_at) is not None,
    }  # fmt: skip


def cards(set_at: Fleet) -> list[dict[str, Any]]:
    stuck = fleet.is_stuck(set_at)
    p99 = kit.card("Page's P99", set_at.page_p99, "s", tone="good" if set_at.in_time else "bad", note=exactness(set_at))
    word = "not known" if not set_at.known else "in time" if set_at.in_time else "too late"
    needed = kit.text_card("Shard's percentile", f"P{significant(100 * set_at.leaf_quantile, 6)}",
        note=f"{set_at.needed:,} requests to know it")  # fmt: skip
    after, tone = ("comes back", "good") if not set_at.tipped else ("stays late", "bad") if stuck else ("catches up", "middling")
    return [
        {**p99, "word": word, "tone": "bad" if not set_at.known else p99["tone"]},
        needed,
        kit.card("Backups", 100 * set_at.copies, "%", note="of the requests, without a pause"),
        kit.text_card("After the pause", after, tone=tone, word="can get stuck" if stuck else "safe" if set_at.proven else "not proven",
            note="one simulated run"),
    ]  # fmt: skip


def exactness(set_at: Fleet) -> str:
    """Whether the page's P99 is a law's or one run's, and how far another run's may be from it."""
    if set_at.law is not None:
        return "exact, for one line per shard" if set_at.hedge == OFF else "exact for a large fleet, before any pause"
    low, high = set_at.spread
    return f"simulated; other runs {format_quantity(low, 's')} {'or more' if high is None else 'to ' + format_quantity(high, 's')}"


def formula(set_at: Fleet) -> str:
    rho, quantile = kit.amount(100 * set_at.rho, "%"), significant(set_at.leaf_quantile, 7)
    page = line("shard's quantile = 0.99<sup>1/<i>k</i></sup> =", f"0.99<sup>1/{set_at.k:,}</sup> = {quantile}")
    if set_at.hedge == OFF:
        return page
    if set_at.hedge == CALLED_BACK:
        if set_at.leaf == "exponential":
            return page + line("load with backups = <i>ρ</i> =", f"{rho}, because two that work on one request finish it twice as fast")
        return page + line(
            "load with backups ≤ 2<i>ρ</i> =", kit.amount(200 * set_at.rho, "%"), ", as a backup costs what both have worked on at once"
        )
    most = 1.0 if set_at.limit is None else min(1.0, set_at.limit)
    worst = set_at.rho * (1 + most)
    relation = ", more than the shards can do, so it can stay late" if worst >= 1 else ", less than the shards can do, so it comes back"
    return page + line("<i>ρ</i> · (1 + <i>b</i>) =", f"{rho} × (1 + {significant(most)}) = {kit.amount(100 * worst, '%')}{relation}")
