"""Act II: places to save to, intervals and restarts to what is left of the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.two_levels import waste
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_07_checkpoint.act2 import figures, verdict
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import FEWEST, HOST, MINUTE, NEIGHBOUR, NONE, Plan, plan_of, premise
from ironlaw.labs.lab_v2_07_checkpoint.clusters import BOX, HOUR, SAVED, cluster_of, earlier
from ironlaw.registry.boxes import box
from ironlaw.systems.limits import hit
from ironlaw.units import show
from ironlaw.widget.figure import tabbed

CLAIMS = ("draining_needs_no_bandwidth", "storage_is_the_limit", "near_copies_replace_far_ones")
FOLLOWS = ("gpus", "unit", "parameters", "spares")
MORE = ("gpus", "unit", "parameters", "bytes", "near_every", "host_up", "one_host", "pause", "away", "storage", "memory", "host")


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        cluster, near = cluster_of(lab), values.get("near") or NONE
        gpus, billions = max(cluster.gpus, FEWEST), min(2000.0, max(1.0, cluster.parameters / 1e9))
        stops = [FEWEST * 2**k for k in range(10)]
        return settings.dials(
            Plan, gpus={"value": gpus, "steps": sorted({*stops, gpus})}, unit={"value": round(cluster.unit / HOUR)},
            parameters={"value": round(billions, 1)}, near_every={"hidden": near == NONE}, host_up={"hidden": near != HOST},
            one_host={"hidden": near != NEIGHBOUR}, spares={"value": spares_for(gpus)},
            far_every={"value": round(premise().far_every / MINUTE, 2)},
        )  # fmt: skip

    return dials_at


def spares_for(gpus: int) -> int:
    """Where the dial begins: one in a hundred hosts, eight at the least."""
    return max(8, round(gpus / box(BOX).devices / 100))


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan = plan_of(values)
    return kit.View(
        figures=[
            tabbed(figures.wasted(lab, plan), "What is wasted"), tabbed(figures.time(lab, plan), "All plans"),
            tabbed(figures.by_gpus(plan), "By GPUs"),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, plan),
        note=kit.html(notes(lab, plan)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    good = verdict.works(plan)
    room = plan.memory >= plan.held
    return [
        kit.card("Goodput", 100 * plan.goodput, "%", tone="good" if good else "bad"),
        kit.card("At the best intervals", 100 * plan.at_best.goodput, "%"),
        kit.card("Between failures", plan.between, "s"),
        kit.card("A far save stops the job", plan.levels[1].save, "s", note=f"writing it takes {show(plan.drain, 's')}"),
        kit.card("In a host's memory", plan.held, "B", tone="" if room else "bad", note=f"copies, of {show(plan.memory, 'B')} free"),
    ]


def formula(plan: Plan) -> str:
    """First order: each place with the failures that it serves."""
    p = plan.survives
    back = line(
        "<i>p</i> =", kit.amount(100 * p, "%"), "of failures go back to a near copy,", kit.amount(100 * (1 - p), "%"), "to a far one"
    )
    symbols = [
        fraction("<i>δ</i><sub>1</sub>", "<i>τ</i><sub>1</sub>"), "+", fraction("<i>δ</i><sub>2</sub>", "<i>τ</i><sub>2</sub>"), "+",
        fraction(
            "<i>p</i>(<i>τ</i><sub>1</sub>/2 + <i>R</i><sub>1</sub>)"
            " + (1 − <i>p</i>)(<i>τ</i><sub>2</sub>/2 + <i>R</i><sub>2</sub>)", "<i>M</i>",
        ),
    ]  # fmt: skip
    return line("wasted to first order =", *symbols, "=", kit.amount(100 * waste(plan.period), "%")) + (back if p else "")


def notes(lab: kit.Lab, plan: Plan) -> str:
    texts = []
    if lab.current_context.slug == SAVED:
        design = earlier(lab)
        texts.append(lab.fill("act2.saved", model=str(design.get("model") or "the model")) if design else lab.fill("act1.saved_open"))
    texts.append(
        lab.fill(
            "act2.path", rate=kit.amount(plan.host, "B/s"), part=kit.amount(plan.state / plan.gpus, "B"), state=kit.amount(plan.state, "B")
        )
    )
    texts.append(lab.fill("act2.scale"))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    period = plan.period
    return {
        **settings.values(plan, "gpus", "parameters", "saving", "spares", "near", "survives"),
        "mtbf_s": round(plan.between, 3), "state_bytes": plan.state, "storage_bytes_per_s": plan.storage,
        "near_interval_s": round(period.interval, 3) if plan.near != NONE else None, "far_interval_s": round(plan.far_every, 3),
        "goodput": round(plan.goodput, 6), "constraint_hit": None if verdict.works(plan) else hit(verdict.LIMITS, plan).name,
    }  # fmt: skip
