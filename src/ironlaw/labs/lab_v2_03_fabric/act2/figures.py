"""Act II's pictures: the switches with their loads, the jobs' steps, and the ports against the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.cluster.jobs import PLACEMENTS, Waiting
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import NAMES, Case, jobs_at
from ironlaw.pictures import fabric as drawing
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.systems.training.fabric_jobs import EXPERTS, HOSTS, NODES
from ironlaw.units import percent
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import format_quantity

LITTLE = 0.005  # of a step: what nobody would notice
BAD = ", bad day"  # behind the name of a job


def fabric(case: Case) -> Figure:
    tree, loads = case.tree, case.uplinks
    note = ", ".join(
        [f"one of {tree.planes} planes"] * (tree.planes > 1) + [f"one of {PLACEMENTS} simulated placements"] * (case.scattered > 0)
    )
    if not loads:
        return drawing.tree(
            [[drawing.Subtree("the only leaf", 0.0)]], "One leaf holds all hosts", top="nothing above", text="One leaf holds all hosts."
        )
    tiers = [
        [
            drawing.Subtree(
                f"{name} {i + 1}", each.load, (("jobs", ", ".join(NAMES[job] for job in jobs)), ("carries", format_quantity(rate, "B/s"))),
                max((_port_load(case.waiting[job]) for job in jobs), default=0.0),
            )
            for i, (each, rate) in enumerate(zip(loads[name], rates, strict=True))
            for jobs in [jobs_at(case, name, i)]
        ]
        for name, _, rates in tree.tiers
    ]  # fmt: skip
    busiest = max(each.load for tier in loads.values() for each in tier)
    across = sum(tree.tiers[-1][2]) / 2 * tree.planes
    text = (
        f"{tree.planes * tree.leaves} leaves of {tree.leaf} hosts; the busiest uplink is offered {percent(busiest)} of what it carries,"
        f" and {format_quantity(across, 'B/s')} fit across the middle."
    )
    top = "top tier" if len(tiers) == 2 else "spine"
    title = f"The busiest uplink is offered {percent(busiest)} of what it carries"
    return drawing.tree(
        tiers, title, top=top, text=text, note=note, cut=f"the middle: {format_quantity(across, 'B/s')}", id="switches",
        spans=_spans(case),
    )  # fmt: skip


def _port_load(one: Waiting) -> float:
    """How much of its communication a job's own ports are busy."""
    return one.port / one.communication if one.communication else 0.0


def _spans(case: Case) -> list[drawing.Span]:
    """Whose hosts stand where, in rack order; nobody's stand together where nodes are placed at random."""
    if case.scattered:
        return []
    total, first, found = sum(NODES.values()), 0, []
    for name, count in NODES.items():
        found.append(drawing.Span(NAMES[name], first / total, (first + count) / total))
        first += count
    return found


def steps(lab: kit.Lab, case: Case) -> Figure:
    """In percent of each job's step on a spine that holds nobody up: arithmetic, its ports, and what it waits for besides; then the same
    on a bad day."""
    rows = _parts(case)
    if case.on_a_bad_day != case:
        rows |= {f"{name}{BAD}": parts for name, parts in _parts(case.on_a_bad_day).items()}
    slowest = max(case.factors, key=lambda name: case.factors[name])
    slower = case.factors[slowest] - 1
    title = "Nobody waits for the spine"
    if slower > LITTLE:
        title = f"The {NAMES[slowest]} {'are' if slowest == EXPERTS else 'is'} {percent(slower)} slower than on a full spine"
    drawn = _medians(stack(rows, "%", title, label="of the step on a full spine", id="steps"), rows)
    longest = max(sum(part.value for part in parts) for parts in rows.values())
    drawn = replace(drawn, x=replace(drawn.x, domain=(0.0, 20.0 * math.ceil(1.35 * longest / 20))))  # room for the words of a mark
    option = lab.choice("act2")
    if option is None:
        return drawn
    return on_rows(drawn, [NAMES[name] for name in NAMES if option.id in (name, "all")], NAMES[lab.question("act2").right.id])


def _medians(drawn: Figure, rows: Mapping[str, Sequence[Part]]) -> Figure:
    """A bad day's placements are drawn at random, half of them longer and half shorter: its bars say what they are about."""
    totals = {name: f"about {10 * round(sum(part.value for part in parts) / 10)}%" for name, parts in rows.items() if name.endswith(BAD)}
    return replace(
        drawn,
        marks=tuple(replace(one, label=totals.get(str(dict(one.at).get("y")), one.label) if one.label else "") for one in drawn.marks),
    )


def _parts(case: Case) -> dict[str, list[Part]]:
    rows = {}
    for name, one in case.waiting.items():
        whole = case.full[name].step / 100
        rows[NAMES[name]] = [
            Part("arithmetic", one.job.compute / whole, "compute"), Part("its ports", one.port / whole, "memory"),
            Part("waits for uplinks", (one.communication - one.port) / whole, "overhead"),
        ]  # fmt: skip
    return rows


def ports(case: Case, budget: int) -> Figure:
    """Where switch ports go, here and on a full spine, and the budget."""
    rows = {}
    for name, each in {"this fabric": case, "a full spine": Case(leaf_thin=1.0)}.items():
        leaf, pod = each.tree.links
        rows[name] = [
            Part("to hosts", float(HOSTS), "compute"), Part("leaf links, both ends", 2.0 * leaf, "memory"),
            Part("pod links, both ends", 2.0 * pod, "overhead"),
        ]  # fmt: skip
    limit = mark("rule", "fail", x=float(budget), dash=True, label=f"budget {budget:,}", name="budget", id="budget",
                 hover=[("budget", f"{budget:,}")])  # fmt: skip
    room = budget - case.tree.ports
    title = f"{case.tree.ports:,} ports, {abs(room):,} {'under' if room >= 0 else 'over'} the budget"
    return stack(rows, "", title, chosen="this fabric", label="ports in use", id="ports", extra=[limit])


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
    title = f"Such a tree holds {rows[chosen]:,} hosts, and {HOSTS:,} need a port"
    return Figure(
        "holds", title, Axis("log", "hosts", "", (100.0, 1e7)), Axis("band", names=tuple(rows)), tuple(marks),
        f"{words}; {HOSTS:,} hosts need a port.",
        table=Table(("tree", "hosts"), tuple((name, f"{count:,}") for name, count in rows.items())),
        note=f"{case.radix} ports per switch",
    )  # fmt: skip
