"""Act II's pictures: the switches with their loads, the jobs' steps, and the ports against the budget."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import NAMES, Case, jobs_at
from ironlaw.pictures import fabric as drawing
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.systems.training.fabric_jobs import HOSTS
from ironlaw.units import percent
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import format_quantity

PORTS = (0.0, 12_000.0)


def fabric(case: Case) -> Figure:
    tree, loads = case.tree, case.uplinks
    note = f"one of {tree.planes} planes" if tree.planes > 1 else ""
    if not loads:
        return drawing.tree(
            [[drawing.Subtree("the only leaf", 0.0)]], "The switches", top="nothing above", text="One leaf holds all hosts."
        )
    tiers = [
        [
            drawing.Subtree(
                f"{name} {i + 1}", each.load, (("jobs", ", ".join(jobs_at(case, name, i))), ("carries", format_quantity(rate, "B/s")))
            )
            for i, (each, rate) in enumerate(zip(loads[name], rates, strict=True))
        ]
        for name, _, rates in tree.tiers
    ]
    busiest = max(each.load for tier in loads.values() for each in tier)
    across = sum(tree.tiers[-1][2]) / 2 * tree.planes
    text = (
        f"{tree.planes * tree.leaves} leaves of {tree.leaf} hosts; the busiest uplink has {percent(busiest)} of what it carries,"
        f" and {format_quantity(across, 'B/s')} cross the middle."
    )
    top = "top tier" if len(tiers) == 2 else "spine"
    return drawing.tree(
        tiers, "The switches", top=top, text=text, note=note, cut=f"the middle: {format_quantity(across, 'B/s')}", id="switches"
    )


def steps(lab: kit.Lab, case: Case) -> Figure:
    """In percent of each job's step on a spine that holds nobody up: arithmetic, its ports, and what it waits for besides."""
    rows = {}
    for name, one in case.waiting.items():
        whole = case.full[name].step / 100
        rows[NAMES[name]] = [
            Part("arithmetic", one.job.compute / whole, "compute"), Part("its ports", one.port / whole, "memory"),
            Part("waits for uplinks", (one.communication - one.port) / whole, "overhead"),
        ]  # fmt: skip
    drawn = stack(rows, "%", "Steps of the jobs", label="of the step on a full spine", id="steps")
    longest = max(sum(part.value for part in parts) for parts in rows.values())
    drawn = replace(drawn, x=replace(drawn.x, domain=(0.0, 20.0 * math.ceil(1.6 * longest / 20))))  # room for the words of a mark
    option = lab.choice("act2")
    if option is None:
        return drawn
    return on_rows(drawn, [NAMES[name] for name in NAMES if option.id in (name, "all")], NAMES[lab.question("act2").right.id])


def ports(case: Case, budget: int) -> Figure:
    """Where switch ports go, and the budget."""
    leaf, pod = case.tree.links
    parts = {"to hosts": HOSTS, "leaf links, both ends": 2 * leaf, "pod links, both ends": 2 * pod, "in all": case.tree.ports}
    marks = [
        mark("bar", "ink" if name == "in all" else "memory", x=float(count), y=name, id=name, name=name, label=f"{count:,}",
             hover=[("ports", f"{count:,}")])
        for name, count in parts.items()
    ]  # fmt: skip
    marks.append(
        mark(
            "rule",
            "fail",
            x=float(budget),
            dash=True,
            label=f"budget {budget:,}",
            name="budget",
            id="budget",
            hover=[("budget", f"{budget:,}")],
        )
    )
    words = "; ".join(f"{name} {count:,}" for name, count in parts.items())
    return Figure(
        "ports", "Switch ports", Axis("linear", "ports in use", "", PORTS), Axis("band", names=tuple(parts)), tuple(marks),
        f"{words}, of a budget of {budget:,}.",
        table=Table(("where", "ports"), tuple((name, f"{count:,}") for name, count in parts.items())),
    )  # fmt: skip


def holds(case: Case) -> Figure:
    """The most hosts of trees of such switches, and those that want a port."""
    ways = {"two tiers": (2, False), "two tiers, rails": (2, True), "three tiers": (3, False), "three tiers, rails": (3, True)}
    rows = {name: case.at(tiers=tiers, rails=rails).tree.holds for name, (tiers, rails) in ways.items()}
    chosen = next(name for name, way in ways.items() if way == (case.tiers, case.rails))
    marks = [
        mark("point", "memory" if count >= HOSTS else "fail", x=float(count), y=name, size=8, id=name, name=name, label=f"{count:,}",
             emphasis=name == chosen, hover=[("hosts", f"{count:,}")])
        for name, count in rows.items()
    ]  # fmt: skip
    marks.append(
        mark(
            "rule", "ink", x=float(HOSTS), dash=True, label=f"{HOSTS:,} to join", name="hosts", id="hosts", hover=[("hosts", f"{HOSTS:,}")]
        )
    )
    words = "; ".join(f"{name} {count:,}" for name, count in rows.items())
    return Figure(
        "holds", "What such switches hold", Axis("log", "hosts", "", (100.0, 1e7)), Axis("band", names=tuple(rows)), tuple(marks),
        f"{words}; {HOSTS:,} hosts want a port.",
        table=Table(("tree", "hosts"), tuple((name, f"{count:,}") for name, count in rows.items())),
        note=f"{case.radix} ports a switch",
    )  # fmt: skip
