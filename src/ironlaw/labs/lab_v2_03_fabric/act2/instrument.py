"""Act II: switches, placement and jobs to the steps of each and the ports of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_03_fabric.act2 import figures, verdict
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import EXPERT_COUNTS, GBITS, NAMES, RADIXES, THIN, TOP_K, Case, case_of, saved_gbits
from ironlaw.labs.lab_v2_03_fabric.act2.slots import deep
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, PIPELINE, device_flops
from ironlaw.widget.figure import tabbed

CLAIMS = ("every_job_needs_a_full_spine", "rails_cost_more_ports", "a_torus_is_poor_at_all_reduce")
FOLLOWS = ("leaf_thin", "rails", "scattered", "radix", "tiers")


def dials(lab: kit.Lab) -> Any:
    start = Case()

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        widths = [(thin, f"{thin:g}:1") for thin in THIN]
        counts = [(count, f"{count}") for count in EXPERT_COUNTS]
        return [
            kit.choice("radix", "Ports of a switch", [(radix, str(radix)) for radix in RADIXES], start.radix),
            kit.choice("tiers", "Tiers", [(2, "two"), (3, "three")], start.tiers),
            kit.select("leaf_thin", "Oversubscription of a leaf", widths, start.leaf_thin),
            kit.select("pod_thin", "Oversubscription of a pod", widths, start.pod_thin, hidden=values.get("tiers") != 3),
            kit.switch("rails", "Rails: NIC i of every node on plane i", start.rails),
            kit.span("scattered", "Nodes that sit elsewhere", 0, 100, 0, step=5, unit="%"),
            kit.choice("gbits", "A port, Gb/s", [(bits, str(bits)) for bits in GBITS], saved_gbits(lab) or start.gbits),
            kit.select("experts", "Experts, one a device", counts, start.experts),
            kit.choice("top_k", "Experts a token goes to", [(count, str(count)) for count in TOP_K], start.top_k),
            kit.span("collisions", "Flows that meet on a link", 0, 30, 0, step=5, unit="%"),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(values)
    used = tabbed(figures.ports(case, verdict.BUDGET), "Ports")
    fits = tabbed(figures.holds(case), "What fits")
    pictures = (
        [tabbed(figures.fabric(case), "The switches"), tabbed(figures.steps(case), "Steps"), used, fits] if case.tree.fits else [fits]
    )
    return kit.View(
        figures=pictures,
        cards=cards(case),
        formula=formula(case),
        banner=verdict.banner(lab, case),
        note=kit.html(notes(lab, case)),
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
            note="its step, over a full spine",
        )
        for name in (DENSE, EXPERTS, PIPELINE)
    ]
    ports = {"label": "Ports", "value": f"{case.tree.ports:,}", "unit": "", "tone": "good" if case.tree.ports <= verdict.BUDGET else "bad",
             "note": f"of {verdict.BUDGET:,}"}  # fmt: skip
    return [*shown, kit.card("All-to-all", 100 * case.waiting[EXPERTS].share, "%", note="of the experts’ step"), ports]


def formula(case: Case) -> str:
    """Ports, and the cut: what the thinnest tier leaves of the hosts' rate."""
    leaf, pod = case.tree.links
    return line("ports =", "hosts + 2 · links", "=", f"{case.tree.hosts:,} + 2 × {leaf + pod:,}", "=", f"{case.tree.ports:,}") + line(
        "an uplink slows its jobs where", fraction("what their ports send", "what it carries"), "&gt; 1"
    )


def notes(lab: kit.Lab, case: Case) -> str:
    bits = saved_gbits(lab)
    texts = [lab.fill("act2.from_lab_02", bits=bits) if bits else lab.fill("act2.no_lab_02", bits=Case().gbits)]
    texts.append(lab.fill("act2.arithmetic", deep=deep(), flops=kit.amount(device_flops(), "FLOP/s")))
    return "\n\n".join(texts)


def readouts(case: Case) -> dict[str, Any]:
    hit, factors = verdict.state(case), case.factors
    return {
        "radix": case.radix, "tiers": case.tiers, "leaf_thin": case.leaf_thin, "pod_thin": case.pod_thin, "rails": case.rails,
        "link_bytes_per_s": case.rate, "placed_scattered": case.scattered, "collisions": case.collisions, "experts": case.experts,
        "top_k": case.top_k, "ports": case.tree.ports, **{f"{name}_factor": round(factors[name], 6) for name in factors},
        "exchange_share": round(case.waiting[EXPERTS].share, 6), "constraint_hit": hit if verdict.TONES[hit] == "fail" else None,
    }  # fmt: skip
