"""Which limit a design hits, by how much, and the least change that would do."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import GBITS, NAMES, RADIXES, THIN, Case
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, HOSTS

NO_TREE, PORTS, SATURATED, FRAGMENTED, SLOW, WORKS = "no_such_tree", "ports", "cut_saturated", "fragmented", "slow", "works"
EXCHANGE_MOST = 0.20  # of the experts' step
SUM_MOST = 1.5  # times the dense model's all-reduce in rack order
BUDGET = 3_600  # switch ports, in the message
STEP_MOST = 1.10  # times the step on a spine that holds nobody up
TONES = {NO_TREE: "fail", PORTS: "fail", SATURATED: "fail", FRAGMENTED: "fail", SLOW: "warn", WORKS: "good"}
TITLES = {
    NO_TREE: "There is no such tree", PORTS: "Too many ports", SATURATED: "The experts wait for the cut",
    FRAGMENTED: "The job is in pieces",
    SLOW: "It runs, too slowly", WORKS: "It works",
}  # fmt: skip


def state(case: Case, budget: int = BUDGET) -> str:
    """The first limit that a design hits; WORKS where it hits none."""
    if not case.tree.fits:
        return NO_TREE
    if case.tree.ports > budget:
        return PORTS
    if pieces(case) > SUM_MOST:
        return FRAGMENTED
    if case.waiting[EXPERTS].share > EXCHANGE_MOST:
        return SATURATED
    return WORKS if max(case.factors.values()) <= STEP_MOST else SLOW


def pieces(case: Case) -> float:
    """What the dense model's all-reduce takes as placed, over the same in rack order."""
    return case.waiting[DENSE].communication / case.at(scattered=0.0).waiting[DENSE].communication


def banner(lab: kit.Lab, case: Case) -> dict[str, object]:
    name = state(case)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](case, BUDGET))))


def cures(case: Case, budget: int = BUDGET) -> list[str]:
    """Single changes after which it works, in words."""
    changes: list[tuple[str, dict[str, Any]]] = []
    if not case.rails:
        changes.append(("rails", {"rails": True}))
    changes += [(f"switches of {radix} ports", {"radix": radix}) for radix in RADIXES if radix != case.radix]
    changes += [(f"ports of {bits} Gb/s", {"gbits": bits}) for bits in GBITS if bits > case.gbits]
    if case.tiers == 2:
        changes.append(("a third tier", {"tiers": 3}))
    if case.scattered:
        changes.append(("rack order", {"scattered": 0.0}))
    if case.collisions:
        changes.append(("no collisions", {"collisions": 0.0}))
    for thin in (_thin(case, budget, wider=True), _thin(case, budget, wider=False)):
        if thin:
            changes.append((f"leaves of {thin:g}:1", {"leaf_thin": float(thin)}))
    return [words for words, change in changes if state(case.at(**change), budget) == WORKS]


def _thin(case: Case, budget: int, wider: bool) -> float | None:
    """The nearest width of a leaf's uplinks that works."""
    steps = [thin for thin in (reversed(THIN) if wider else THIN) if (thin < case.leaf_thin if wider else thin > case.leaf_thin)]
    return next((thin for thin in steps if state(case.at(leaf_thin=float(thin)), budget) == WORKS), None)


def _or(words: list[str]) -> str:
    if not words:
        return "no single dial; turn two"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _no_tree(case: Case, budget: int) -> dict[str, object]:
    return {
        "radix": case.radix, "tiers": "two" if case.tiers == 2 else "three", "thin": f"{case.leaf_thin:g}:1", "hosts": f"{HOSTS:,}",
        "holds": f"{case.tree.holds:,}", "cures": _or(cures(case, budget)),
    }  # fmt: skip


def _ports(case: Case, budget: int) -> dict[str, object]:
    links = sum(case.tree.links)
    return {
        "used": f"{case.tree.ports:,}", "budget": f"{budget:,}", "hosts": f"{HOSTS:,}", "links": f"{links:,}",
        "cures": _or(cures(case, budget)),
    }  # fmt: skip


def _saturated(case: Case, budget: int) -> dict[str, object]:
    one = case.waiting[EXPERTS]
    return {
        "share": kit.amount(100 * one.share, "%"), "most": kit.amount(100 * EXCHANGE_MOST, "%"),
        "exchange": kit.amount(one.communication, "s"),
        "port": kit.amount(one.port, "s"), "cures": _or(cures(case, budget)),
    }  # fmt: skip


def _fragmented(case: Case, budget: int) -> dict[str, object]:
    in_order = case.at(scattered=0.0).waiting[DENSE].communication
    return {
        "scattered": kit.amount(100 * case.scattered, "%"), "sum": kit.amount(case.waiting[DENSE].communication, "s"),
        "in_order": kit.amount(in_order, "s"), "most": kit.times(SUM_MOST), "cures": _or(cures(case, budget)),
    }  # fmt: skip


def _slow(case: Case, budget: int) -> dict[str, object]:
    factors = case.factors
    name = max(factors, key=lambda each: factors[each])
    return {
        "job": NAMES[name], "over": kit.amount(100 * (factors[name] - 1), "%"), "most": kit.amount(100 * (STEP_MOST - 1), "%"),
        "cures": _or(cures(case, budget)),
    }  # fmt: skip


def _works(case: Case, budget: int) -> dict[str, object]:
    return {
        "used": f"{case.tree.ports:,}", "budget": f"{budget:,}", "over": kit.amount(100 * (max(case.factors.values()) - 1), "%"),
        "full": f"{case.at(rails=False, leaf_thin=1.0, tiers=2, radix=64).tree.ports:,}",
    }  # fmt: skip


SLOTS = {NO_TREE: _no_tree, PORTS: _ports, SATURATED: _saturated, FRAGMENTED: _fragmented, SLOW: _slow, WORKS: _works}
