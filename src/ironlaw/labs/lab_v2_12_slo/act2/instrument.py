"""Act II: load, retries, copies and replicas to what is promised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.queues import mmc
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_12_slo.act2 import figures, verdict
from ironlaw.labs.lab_v2_12_slo.act2.plan import HEDGES, LATENCY, MOST_COPIES, PROMISED, SERVICE, SPIKE, UNTIL, Plan, plan_of
from ironlaw.labs.lab_v2_12_slo.services import LAYERS
from ironlaw.systems.limits import hit
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("retries_multiply", "a_spike_passes", "two_replicas_square_the_downtime")
FOLLOWS = ("layers",)
MORE = ("layers", "where", "backoff", "timeout", "growth", "order", "breaker", "hedge", "up", "common", "together")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        layers = LAYERS[lab.current_context.slug]
        single, alone = round(values.get("replicas") or 4) == 1, round(values.get("layers") or layers) == 1
        barred = {level: "a copy needs a second replica" for level in HEDGES if level and single}
        return [
            kit.span("moment", "Moment", 0, UNTIL, UNTIL, step=2, unit="s", play=8, shows="spike"),
            *settings.dials(
                Plan, layers={"value": layers}, where={"hidden": alone}, growth={"hidden": alone}, hedge={"disabled": barred},
                common={"hidden": single},
            ),
        ]  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    plan, moving = plan_of(values), bool(values.get("moving"))
    return kit.View(
        figures=[
            tabbed(figures.spike(lab, plan, float(values["moment"])), "Through a spike"), tabbed(figures.latencies(plan), "How long"),
            tabbed(figures.down(plan), "Replicas"),
        ],
        cards=cards(plan),
        formula=formula(plan),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, plan),
        note=kit.html(notes(lab, plan, moving)),
        readouts=readouts(plan),
    )  # fmt: skip


def cards(plan: Plan) -> list[dict[str, Any]]:
    back, late = plan.course.back, plan.latency
    never = kit.text_card("Recovers after", f"over {significant(plan.after)}", "s", note="after the spike's end", tone="bad")
    endless = kit.text_card("P99.9", "unbounded", note="on a calm day", tone="bad")
    down = plan.available < PROMISED
    return [
        never if math.isinf(back) else kit.card("Recovers after", back, "s", tone="good", note="after the spike's end, to the next 10 s"),
        endless if math.isinf(late) else kit.card("P99.9", late, "s", tone="good" if late <= LATENCY else "bad", note="on a calm day"),
        kit.card(
            "Available",
            100 * plan.available,
            "%",
            tone="bad" if down else "good",
            digits=verdict.nines(plan.available),
            note=f"contract: {100 * PROMISED:g}%",
        ),
        kit.card("Demand while everything is late", 100 * plan.late_load, "%", tone="bad" if plan.stuck else "good", note="of capacity"),
        kit.card("Copies", 100 * plan.copies, "%", tone="bad" if plan.copies > MOST_COPIES + 1e-9 else "", note="of the requests"),
    ]


def formula(plan: Plan) -> str:
    power = f"({plan.retries} + 1)<sup>{plan.layers if plan.where == 'every' else 1}</sup>"
    tries = line("while everything is late:", power, "=", f"{plan.amplified:,.0f}", "attempts per request")
    held = ", within the budget" if plan.budget is not None else ""
    sent = line(
        "load × attempts =",
        kit.amount(100 * plan.late_load, "%"),
        f"of capacity{held};",
        "it stays late above",
        kit.amount(100, "%"),
    )
    if plan.calm.whole is None:
        return tries + sent
    busy = kit.amount(100 * plan.calm.busy, "%")
    asked = fraction(f"{significant(plan.load)} /s", f"{plan.replicas} × {1 / SERVICE:g} /s")
    mean = mmc(plan.calm.busy * plan.replicas / SERVICE, SERVICE, plan.replicas).mean
    load = line("<i>ρ</i> =", asked, "=", kit.amount(100 * plan.share, "%"))
    return load + tries + sent + line("last layer, calm:", busy, "busy, a call takes", kit.amount(mean, "s"), "on average")


def notes(lab: kit.Lab, plan: Plan, moving: bool) -> str:
    texts = [lab.fill("act2.run", per_second=f"{1 / SERVICE:g}", times=significant(SPIKE))]
    if moving:
        texts.append(lab.fill("act2.moving", after=kit.amount(plan.after, "s")))
    if plan.hedged is not None:
        texts.append(lab.fill("act2.copies"))
    return "\n\n".join(texts)


def readouts(plan: Plan) -> dict[str, Any]:
    limit = hit(verdict.LIMITS, plan)
    return {
        **settings.values(plan, "layers", "retries", "replicas", "together"), "load": plan.share,
        "rate_per_s": plan.load, "retry_layers": plan.where, "retry_budget": plan.budget,
        "timeout_s": plan.timeout, "line_limit": plan.limit, "hedge": plan.hedged,
        "latency_p999_s": None if math.isinf(plan.latency) else round(plan.latency, 6), "availability": round(plan.available, 9),
        "back_s": None if math.isinf(plan.course.back) else plan.course.back, "late_load": round(plan.late_load, 6),
        "copies": round(plan.copies, 6), "constraint_hit": None if limit.tone == "good" else limit.name,
    }  # fmt: skip
