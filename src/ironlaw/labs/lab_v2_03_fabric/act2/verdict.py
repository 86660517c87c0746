"""Which limit a design hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.jobs import PLACEMENTS
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import BAD_DAY, NAMES, Case
from ironlaw.systems.limits import fail, good, warn
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, HOSTS

NO_TREE, PORTS, SATURATED = "no_such_tree", "ports", "cut_saturated"
EXCHANGE_MOST = 0.20  # of the experts' step
SUM_MOST = 1.5  # times the dense model's all-reduce in rack order
BUDGET = 3_600  # switch ports, in the message
LITTLE = 0.05  # percent that nobody would mention
STEP_MOST = 1.10  # times the step on a spine that holds nobody up


def pieces(case: Case) -> float:
    """What the dense model's all-reduce takes as placed, over the same in rack order."""
    return case.waiting[DENSE].communication / case.at(scattered=0.0).waiting[DENSE].communication


def _waits(case: Case) -> bool:
    """Whether some job waits longer than it may."""
    return pieces(case) > SUM_MOST or case.waiting[EXPERTS].share > EXCHANGE_MOST or max(case.factors.values()) > STEP_MOST


def _no_tree(case: Case) -> dict[str, object]:
    return {
        "radix": case.radix, "tiers": "two" if case.tiers == 2 else "three", "thin": f"{case.leaf_thin:g}:1", "hosts": f"{HOSTS:,}",
        "holds": f"{case.tree.holds:,}",
    }  # fmt: skip


def _ports(case: Case) -> dict[str, object]:
    links = sum(case.tree.links)
    return {
        "used": f"{case.tree.ports:,}", "budget": f"{BUDGET:,}", "hosts": f"{HOSTS:,}", "links": f"{links:,}",
    }  # fmt: skip


def _saturated(case: Case) -> dict[str, object]:
    one = case.waiting[EXPERTS]
    return {
        "share": kit.amount(100 * one.share, "%"), "most": kit.amount(100 * EXCHANGE_MOST, "%"),
        "exchange": kit.amount(one.communication, "s"),
        "port": kit.amount(one.port, "s"),
    }  # fmt: skip


def _fragmented(case: Case) -> dict[str, object]:
    in_order = case.at(scattered=0.0).waiting[DENSE].communication
    return {
        "scattered": kit.amount(100 * case.scattered, "%"), "sum": kit.amount(case.waiting[DENSE].communication, "s"),
        "in_order": kit.amount(in_order, "s"), "most": kit.times(SUM_MOST), "placements": PLACEMENTS,
    }  # fmt: skip


def _slow(case: Case) -> dict[str, object]:
    factors = case.factors
    name = max(factors, key=lambda each: factors[each])
    return {
        "job": NAMES[name], "over": kit.amount(100 * (factors[name] - 1), "%"), "most": kit.amount(100 * (STEP_MOST - 1), "%"),
    }  # fmt: skip


def _bad_day(case: Case) -> dict[str, object]:
    bad = case.on_a_bad_day
    slowest = _slow(bad)
    return {
        "job": slowest["job"], "over": slowest["over"], "share": kit.amount(100 * bad.waiting[EXPERTS].share, "%"),
        "scattered": kit.amount(100 * BAD_DAY, "%"), "placements": PLACEMENTS,
    }  # fmt: skip


def _works(case: Case) -> dict[str, object]:
    slower = 100 * (max(case.on_a_bad_day.factors.values()) - 1)
    return {
        "used": f"{case.tree.ports:,}", "budget": f"{BUDGET:,}",
        "over": kit.Markup(f"more than {kit.amount(slower, '%')} slower") if slower >= LITTLE else "slower",
        "full": f"{case.at(rails=False, leaf_thin=1.0, tiers=2, radix=64).tree.ports:,}",
    }  # fmt: skip


LIMITS = (
    fail(NO_TREE, "There is no such tree", lambda case: not case.tree.fits, _no_tree),
    fail(PORTS, "Too many ports", lambda case: case.tree.ports > BUDGET, _ports),
    fail("fragmented", "The dense job is scattered", lambda case: pieces(case) > SUM_MOST, _fragmented),
    fail(SATURATED, "The experts wait for their uplinks", lambda case: case.waiting[EXPERTS].share > EXCHANGE_MOST, _saturated),
    warn("slow", "It runs, but too slowly", lambda case: max(case.factors.values()) > STEP_MOST, _slow),
    warn("bad_day", "It holds in rack order, but not on a bad day", lambda case: _waits(case.on_a_bad_day), _bad_day),
    good("works", "It works", _works),
)
