"""Act II: load, retries, copies and replicas to what is promised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_12_slo.act2 import figures, verdict
from ironlaw.labs.lab_v2_12_slo.act2.plan import (
    BREAKERS,
    BUDGETS,
    HEDGES,
    LATENCY,
    LIMITS,
    MOST_COPIES,
    NONE,
    ORDERS,
    PROMISED,
    SERVICE,
    UNTIL,
    WHERE,
    Plan,
    plan_of,
)  # fmt: skip
from ironlaw.labs.lab_v2_12_slo.services import LAYERS
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("retries_multiply", "a_spike_passes", "a_tenth_of_retries_is_harmless", "two_replicas_square_the_downtime", "bigtable_hedge")
FOLLOWS = ("layers",)


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        single = round(values.get("replicas") or 2) == 1
        alone = round(values.get("layers") or LAYERS[lab.current_context.slug]) == 1
        every = [
            kit.span("moment", "Moment", 0, UNTIL, UNTIL, step=2, unit="s", play=8),
            kit.span("load", "Load, of what can be done", 10, 200, 80, step=5, unit="%"),
            kit.span("layers", "Layers", 1, 6, LAYERS[lab.current_context.slug], whole=True),
            kit.span("retries", "Retries of each call", 0, 5, 3, whole=True),
            kit.choice("where", "Who tries again", list(WHERE.items()), hidden=alone),
            kit.select("budget", "Retries per hundred requests, at most", list(BUDGETS.items()), NONE),
            kit.span("backoff", "First wait before a retry", 0, 2, 0, step=0.1, unit="s"),
            kit.span("timeout", "Timeout of the last layer", 0.05, 2, 0.5, unit="s", log=True),
            kit.span("growth", "Each caller waits, times that", 0.8, 2, 1.2, step=0.05, unit="×", hidden=alone),
            kit.select("limit", "Requests that may wait", list(LIMITS.items()), NONE),
            kit.choice("order", "The line is served", list(ORDERS.items())),
            kit.select("breaker", "Clients stop for a second when", list(BREAKERS.items()), NONE),
            kit.select("hedge", "A copy is sent after", list(HEDGES.items()), NONE,
                       {level: "a copy needs a second replica" for level in HEDGES if level and single}),
            kit.span("replicas", "Replicas of a layer", 1, 5, 2, whole=True),
            kit.span("up", "One replica is up", 99, 99.99, 99.9, step=0.01, unit="%"),
            kit.span("common", "Failures that take all replicas", 0, 100, 10, unit="%", hidden=single),
        ]  # fmt: skip
        shows = {"moment": "spike", "backoff": "spike", "limit": "spike", "order": "spike", "breaker": "spike", "budget": "spike",
                 "hedge": "latencies", "up": "down", "common": "down"}  # fmt: skip
        return [{**dial, "shows": shows[dial["id"]]} if dial["id"] in shows else dial for dial in every]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan, moving = plan_of(values), bool(values.get("moving"))
    own = figures.said(lab)
    return kit.View(
        figures=[
            tabbed(figures.spike(plan, float(values["moment"])), "Through a spike"), tabbed(figures.latencies(plan), "How long"),
            tabbed(figures.added(plan), "What is sent"), tabbed(figures.down(plan), "Replicas"),
            *([tabbed(own, "Your answer")] if own else []),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=verdict.banner(lab, plan, moving),
        note=kit.html(notes(lab, plan, moving)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    back, late = plan.course.back, plan.latency
    never = {"label": "Back after", "value": f"over {significant(plan.after)}", "unit": "s", "note": "from the spike's end", "tone": "bad"}
    endless = {"label": "P99.9", "value": "without end", "unit": "", "note": "on a calm day", "tone": "bad"}
    down = plan.available < PROMISED
    return [
        never if math.isinf(back) else kit.card("Back after", back, "s", tone="good", note="from the spike's end, in tens of seconds"),
        endless if math.isinf(late) else kit.card("P99.9", late, "s", tone="good" if late <= LATENCY else "bad", note="on a calm day"),
        kit.card("Available", 100 * plan.available, "%", tone="bad" if down else "good", digits=6, note=f"of {100 * PROMISED:g} %"),
        kit.card("Sent where all is late", 100 * plan.late_load, "%", tone="bad" if plan.stuck else "good", note="of what can be done"),
        kit.card("Copies", 100 * plan.copies, "%", tone="bad" if plan.copies > MOST_COPIES + 1e-9 else "", note="of the requests"),
    ]


def formula(plan: Plan) -> str:
    power = f"({plan.retries} + 1)<sup>{plan.layers if plan.where == 'every' else 1}</sup>"
    tries = line("where all is late:", power, "=", f"{plan.amplified:,.0f}", "attempts a request")
    held = ", held to the budget" if plan.budget is not None else ""
    sent = line(
        "load × attempts =",
        kit.amount(100 * plan.late_load, "%"),
        f"of what can be done{held};",
        "it stays late from",
        kit.amount(100, "%"),
    )
    if plan.calm.whole is None:
        return tries + sent
    busy = kit.amount(100 * plan.calm.busy, "%")
    mean = fraction(kit.amount(SERVICE, "s"), f"1 − {significant(plan.calm.busy)}")
    return tries + sent + line("last layer, calm:", busy, "busy, a call takes", mean, "=", kit.amount(SERVICE / (1 - plan.calm.busy), "s"))


def notes(lab: kit.Lab, plan: Plan, moving: bool) -> str:
    texts = [lab.fill("act2.run", per_second=f"{1 / SERVICE:g}")]
    if moving:
        texts.append(lab.fill("act2.moving", after=kit.amount(plan.after, "s")))
    if plan.hedged is not None:
        texts.append(lab.fill("act2.copies"))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    hit = verdict.state(plan)
    return {
        "layers": plan.layers, "load": plan.load, "retries": plan.retries, "retry_layers": plan.where, "retry_budget": plan.budget,
        "timeout_s": plan.timeout, "line_limit": plan.limit, "hedge": plan.hedged, "replicas": plan.replicas,
        "latency_p999_s": None if math.isinf(plan.latency) else round(plan.latency, 6), "availability": round(plan.available, 9),
        "back_s": None if math.isinf(plan.course.back) else plan.course.back, "late_load": round(plan.late_load, 6),
        "copies": round(plan.copies, 6), "constraint_hit": None if hit == verdict.WORKS else hit,
    }  # fmt: skip
