"""Act II: places to save to, intervals and restarts to what is left of the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_07_checkpoint.act2 import figures, verdict
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import (
    HOST,
    NEAR,
    NEIGHBOUR,
    NONE,
    PER_PARAMETER,
    SAVING,
    Plan,
    plan_of,
    premise,
    storage_rate,
)  # fmt: skip
from ironlaw.labs.lab_v2_07_checkpoint.clusters import BOX, HOUR, INTERCONNECT, MOST, SAVED, cluster_of, earlier
from ironlaw.registry.boxes import box
from ironlaw.units import show
from ironlaw.widget.figure import tabbed

CLAIMS = ("draining_needs_no_bandwidth", "storage_is_the_limit", "near_copies_replace_far_ones")
FOLLOWS = ("gpus", "unit", "parameters", "spares")


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        cluster, near = cluster_of(lab), values.get("near") or NONE
        gpus, billions = max(cluster.gpus, figures.FEWEST), min(2000.0, max(1.0, cluster.parameters / 1e9))
        stops = [figures.FEWEST * 2**k for k in range(10)]
        return [
            kit.span("gpus", "GPUs", figures.FEWEST, MOST, gpus, whole=True, log=True, steps=sorted({*stops, gpus})),
            kit.span("unit", "One GPU fails every", 2000, 500_000, round(cluster.unit / HOUR), unit="h", log=True),
            kit.span("parameters", "Parameters, in billions", 1, 2000, round(billions, 1), log=True),
            kit.span("bytes", "Saved of each parameter", 6, 18, PER_PARAMETER, step=2, unit="B"),
            kit.choice("saving", "A far save stops the job", list(SAVING.items())),
            kit.span("far_every", "Far saves every", 0.1, 1440, 60, unit="min", log=True),
            kit.choice("near", "Near copies in", list(NEAR.items())),
            kit.span("near_every", "Near copies every", 5, 3600, 60, unit="s", log=True, hidden=near == NONE),
            kit.span("host_up", "Failures that leave the host up", 0, 99, 60, unit="%", hidden=near != HOST),
            kit.span("one_host", "Failures that take one host at most", 0, 99, 95, unit="%", hidden=near != NEIGHBOUR),
            kit.span("pause", "Pause around any save", 0.1, 60, 1, unit="s", log=True),
            kit.span("detect", "Detecting a failure takes", 1, 1800, 120, unit="s", log=True),
            kit.span("restart", "Restarting takes", 1, 3600, 180, unit="s", log=True),
            kit.span("spares", "Spare hosts", 0, 1024, spares_for(gpus), whole=True),
            kit.span("away", "A failed host is away for", 0, 168, 24, unit="h"),
            kit.span("storage", "File system takes in", 0.01, 7, storage_rate() / 1e12, unit="TB/s", log=True),
            kit.span("memory", "Free memory of a host", 20, 2000, 500, unit="GB", log=True),
        ]

    return dials_at


def spares_for(gpus: int) -> int:
    """Where the dial begins: one in a hundred hosts, eight at the least."""
    return max(8, round(gpus / box(BOX).devices / 100))


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan = plan_of(lab, values)
    own = figures.said(lab, premise())
    return kit.View(
        figures=[
            tabbed(figures.time(plan), "The time"), tabbed(figures.by_gpus(plan), "By GPUs"),
            *([tabbed(own, "Your answer")] if own else []),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=verdict.banner(lab, plan),
        note=kit.html(notes(lab, plan)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    good = verdict.state(plan) == verdict.WORKS
    room = plan.memory >= plan.held
    return [
        kit.card("Work that lasts", 100 * plan.goodput, "%", tone="good" if good else "bad"),
        kit.card("At the best intervals", 100 * plan.at_best.goodput, "%"),
        kit.card("Between failures", plan.between, "s"),
        kit.card("A far save needs", plan.drain, "s", note="until it is stored"),
        kit.card("In a host's memory", plan.held, "B", tone="" if room else "bad", note=f"copies, of {show(plan.memory, 'B')} free"),
    ]


def formula(plan: Plan) -> str:
    """First order: each place with the failures that it serves."""
    near, far = plan.levels
    p, period = plan.survives, plan.period
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
    far_every = period.count * period.interval
    first = (near.save / period.interval if period.count > 1 else 0.0) + far.save / far_every
    first += (p * (period.interval / 2 + near.restart) + (1 - p) * (far_every / 2 + far.restart + period.lag)) / plan.between
    return line("wasted, to first order:", *symbols, "=", kit.amount(100 * first, "%")) + (back if p else "")


def notes(lab: kit.Lab, plan: Plan) -> str:
    texts = []
    if lab.current_context.slug == SAVED:
        design = earlier(lab)
        texts.append(lab.fill("act2.saved", model=str(design.get("model") or "the model")) if design else lab.fill("act1.saved_open"))
    where = "act2.path_saved" if (lab.ledger.design(INTERCONNECT) or {}).get("host_bytes_per_s") else "act2.path"
    texts.append(
        lab.fill(where, rate=kit.amount(plan.host, "B/s"), part=kit.amount(plan.state / plan.gpus, "B"), state=kit.amount(plan.state, "B"))
    )
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    hit = verdict.state(plan)
    period = plan.period
    return {
        "gpus": plan.gpus, "mtbf_s": round(plan.between, 3), "parameters": plan.parameters, "state_bytes": plan.state,
        "saving": plan.saving, "spares": plan.spares,
        "near": plan.near, "near_interval_s": round(period.interval, 3) if plan.near != NONE else None,
        "far_interval_s": round(plan.far_every, 3), "survives": plan.survives, "storage_bytes_per_s": plan.storage,
        "goodput": round(plan.goodput, 6), "constraint_hit": None if hit == verdict.WORKS else hit,
    }  # fmt: skip
