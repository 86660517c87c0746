"""Act II: switches, placement and jobs to the steps of each and the ports of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_03_fabric.act2 import figures, verdict
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import NAMES, Case
from ironlaw.labs.lab_v2_03_fabric.act2.slots import deep
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, PIPELINE, device_flops
from ironlaw.widget.figure import tabbed

CLAIMS = ("every_job_needs_a_full_spine", "rails_cost_more_ports")
FOLLOWS = ("leaf_thin", "rails", "scattered", "radix", "tiers")
MORE = ("gbits", "experts", "top_k", "collisions")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    return lambda values: settings.dials(Case, pod_thin={"hidden": values.get("tiers") != 3})


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = settings.read(Case, values)
    used = tabbed(figures.ports(case, verdict.BUDGET), "Ports")
    fits = tabbed(figures.holds(case), "What fits")
    pictures = (
        [tabbed(figures.steps(lab, case), "The three jobs"), tabbed(figures.fabric(case), "The switches"), used]
        if case.tree.fits
        else [fits]
    )
    return kit.View(
        figures=pictures,
        cards=cards(case),
        formula=formula(case),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, case),
        note=kit.html(notes(lab)),
        readouts=readouts(case),
    )


def cards(case: Case) -> list[dict[str, Any]]:
    if not case.tree.fits:
        return [kit.card("Holds", float(case.tree.holds), "", note="hosts, in all planes")]
    factors = case.factors
    shown = [
        kit.card(
            NAMES[name].capitalize(),
            factors[name],
            "×",
            tone="good" if factors[name] <= verdict.STEP_MOST else "bad",
            note="its step, relative to a full spine",
        )
        for name in (DENSE, EXPERTS, PIPELINE)
    ]
    ports = kit.text_card("Ports", f"{case.tree.ports:,}", tone="good" if case.tree.ports <= verdict.BUDGET else "bad",
        note=f"of {verdict.BUDGET:,}")  # fmt: skip
    return [*shown, kit.card("All-to-all", 100 * case.waiting[EXPERTS].share, "%", note="of the experts’ step"), ports]


def formula(case: Case) -> str:
    """Ports, and the cut: what the thinnest tier leaves of the hosts' rate."""
    leaf, pod = case.tree.links
    return line("ports =", "hosts + 2 · links", "=", f"{case.tree.hosts:,} + 2 × {leaf + pod:,}", "=", f"{case.tree.ports:,}") + line(
        "an uplink slows its jobs where", fraction("what their ports send", "what it carries"), "&gt; 1"
    )


def notes(lab: kit.Lab) -> str:
    return lab.fill("act2.arithmetic", deep=deep(), flops=kit.amount(device_flops(), "FLOP/s"))


def readouts(case: Case) -> dict[str, Any]:
    factors = case.factors
    return {
        **settings.values(case, "radix", "tiers", "leaf_thin", "pod_thin", "rails", "collisions", "experts", "top_k"),
        "link_bytes_per_s": case.rate, "placed_scattered": case.scattered, "ports": case.tree.ports,
        **{f"{name}_factor": round(factors[name], 6) for name in factors},
        "exchange_share": round(case.waiting[EXPERTS].share, 6), "constraint_hit": settings.broken(verdict.LIMITS, case),
    }  # fmt: skip
