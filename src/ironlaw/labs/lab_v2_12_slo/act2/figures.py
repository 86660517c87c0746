"""Act II's pictures: through the spike, how long requests take, what is sent, how often a layer is down, and the learner's answer."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from ironlaw import kit
from ironlaw.engine.serving.availability import replicated
from ironlaw.engine.serving.sums import Total
from ironlaw.labs.lab_v2_12_slo.act2.plan import (
    BEGINS,
    LASTS,
    LATENCY,
    MOST_REPLICAS,
    PREMISE,
    PROMISED,
    SPIKE,
    UNTIL,
    WITHIN,
    Plan,
)
from ironlaw.pictures.ends import decades
from ironlaw.pictures.lines import lines, upright
from ironlaw.units import counted, percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

MOST = 700.0  # percent of capacity: all of the question's run; what is sent beyond is drawn there
SENT, GOOD, BARE_SENT, BARE_GOOD = "sent", "answered in time", "sent, without your changes", "in time, without your changes"
DOMAIN = (0.001, 10.0)  # seconds
LEAST = 1e-3  # percent
TRUTH_AT = UNTIL - 5  # seconds, where the answer to the question is drawn
PARTS = (0.0, 0.1, 1.0, 10.0)  # seconds
TIMES = tuple(DOMAIN[0] * (DOMAIN[1] / DOMAIN[0]) ** (i / 64) for i in range(65))
FULL = mark("rule", "ridge", y=100.0, dash=True, id="full", label="capacity", name="capacity", hover=[("capacity", "100%")])


def spike(lab: kit.Lab, plan: Plan, moment: float) -> Figure:
    """Sent and answered in time, second by second, up to the moment; beside it, dotted, the same with nothing done about retries."""
    own, bare = plan.course.points, plan.bare.course.points
    series = {SENT: _line(own, 1, moment), GOOD: _line(own, 2, moment)}
    if plan.bare != plan:
        series |= {BARE_SENT: _line(bare, 1, moment), BARE_GOOD: _line(bare, 2, moment)}
    now = next(((sent, good) for at, sent, good in reversed(own) if at <= moment), own[0][1:])
    option, last = lab.choice("act2"), 100 * PREMISE.course.last
    shown, truth = (format_quantity(share, "%") for share in (100 * now[1], last))
    extra: list[Mark] = [
        mark("area", "warn", x0=BEGINS, x1=BEGINS + LASTS, y0=0.0, y1=MOST, id="spike", label="spike", name="the spike"),
        FULL,
        mark("point", "accent", x=moment, y=min(100 * now[1], MOST), size=7, id="moment", name="this moment",
             label="" if option is not None and moment > TRUTH_AT and shown == truth else shown,  # the truth beside it says so
             drag=hold("moment"),
             hover=[("in time", exact(100 * now[1], "%")), ("sent", exact(100 * now[0], "%"))]),
    ]  # fmt: skip
    if option is not None:
        said, asked = float(option.value), "it is" if plan.storm == PREMISE.storm else "as asked, it is"
        extra += [
            mark("rule", "accent", y=said, role="prediction", id="prediction", label=f"you said {said:g}%", name="your prediction",
                 hover=[("your prediction", exact(said, "%"))]),
            mark("point", "ink", x=TRUTH_AT, y=last, role="truth", size=7, id="truth", name="a minute later",
                 label=f"{asked} {truth}", hover=[("in time", exact(last, "%"))]),
        ]  # fmt: skip
    beyond = f"; more than {MOST:.0f}% is drawn there" if max(y for line in series.values() for _, y in line) >= MOST else ""
    return lines(
        series, Axis("linear", "time", "s", (0.0, UNTIL)), Axis("linear", "of capacity", "%", (0.0, MOST)),
        "What is sent, and what is answered in time", extra=extra, id="spike", more={"height": 340},
        note=f"{percent(SPIKE * plan.share)} of capacity for {significant(LASTS)} s{beyond}",
    )  # fmt: skip


def _line(points: tuple[tuple[float, float, float], ...], column: int, until: float) -> list[tuple[float, float]]:
    line = [(point[0], min(100 * point[column], MOST)) for point in points if point[0] <= until]
    return line or [(points[0][0], min(100 * points[0][column], MOST))]


def latencies(plan: Plan) -> Figure:
    """Shares that take longer on a calm day, log-log: one layer, all of them, and all without copies."""
    calm = plan.calm
    extra: list[Mark] = [
        mark("rule", "ridge", y=100 * (1 - WITHIN), dash=True, id="share", label=percent(1 - WITHIN),
             name="may be late"),
        upright(LATENCY, f"SLO {format_quantity(LATENCY, 's')}", "the SLO", "s",
                "good" if plan.latency <= LATENCY else "fail", "promise"),
    ]  # fmt: skip
    if calm.whole is None:
        series = {"all layers": [(t, 100.0) for t in DOMAIN]}
    else:
        one = calm.one(calm.load * (1 + calm.copies))
        series = {"one layer": _seen([(t, one.tail(t)) for t in TIMES]), "all layers": _tail(calm.whole)}
        plain = replace(calm, hedge=None)
        if calm.hedge is not None and plain.whole is not None:
            series["without copies"] = _tail(plain.whole)
        if math.isfinite(plan.latency):
            extra.append(
                mark("point", "accent", x=min(plan.latency, DOMAIN[1]), y=100 * (1 - WITHIN), size=7, id="now", name="P99.9",
                     label=format_quantity(plan.latency, "s"), hover=[("P99.9", exact(plan.latency, "s"))])
            )  # fmt: skip
    in_a_row = f"{counted(plan.layers, 'layer')}, one after the other"
    return lines(
        series, Axis("log", "time to the answer", "s", DOMAIN), Axis("log", "share that takes longer", "%", (LEAST, 100.0)),
        "How long requests take on a calm day", extra=extra, id="latencies", more={"height": 340},
        note="a layer with no capacity left never answers" if calm.whole is None else in_a_row,
    )  # fmt: skip


def _tail(law: Total) -> list[tuple[float, float]]:
    """The tail in three parts, each in steps of its own, up to where nothing is visible any more."""
    points: list[tuple[float, float]] = []
    for begin, end in pairwise(PARTS):
        times = [t for t in TIMES if begin < t <= end * 1.0001]
        points += zip(times, law.tails(times), strict=True)
        if 100 * points[-1][1] < LEAST:
            break
    return _seen(points)


def _seen(tails: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points in percent that lie above the foot of the axis; one at the foot if none does."""
    seen = [(t, 100 * tail) for t, tail in tails if 100 * tail >= LEAST]
    return seen or [(TIMES[0], LEAST)]


def down(plan: Plan) -> Figure:
    """Percent of the time that a layer is down, by replicas: as set, with no cause in common, and if one replica were enough."""
    counts = range(1, MOST_REPLICAS + 1)
    enough = [n for n in counts if n >= plan.needed]
    series = {
        "as set": [(n, 100 * (1 - replace(plan, replicas=n).layer_up)) for n in enough],
        "with independent failures": [(n, 100 * (1 - replace(plan, replicas=n, common=0.0).layer_up)) for n in enough],
        "if one replica were enough": [(n, 100 * (1 - replicated(plan.up, n, 1, plan.common))) for n in counts],
    }
    allowed = 100 * (1 - PROMISED ** (1 / plan.layers))
    floor = 1e-10
    series = {name: [(n, max(value, floor)) for n, value in points] for name, points in series.items() if points}
    extra = [
        mark("rule", "good", y=allowed, dash=True, id="allowed", label=f"allowed {significant(allowed, 2)}%",
             name="allowed for one layer"),
        mark("point", "accent", x=plan.replicas, y=max(100 * (1 - plan.layer_up), floor), size=8, id="now", name="as set",
             label=format_quantity(100 * (1 - plan.layer_up), "%"), drag=hold("replicas")),
    ]  # fmt: skip
    shares = [allowed, *(value for points in series.values() for _, value in points)]
    low, high = decades(min(shares) * 1.0001, max(shares))
    return lines(
        series, Axis("linear", "replicas", "", (1.0, 5.0), ticks=(1.0, 2.0, 3.0, 4.0, 5.0)), Axis("log", "down", "%", (low, high)),
        "How often a layer is down", extra=extra, id="down", more={"height": 340},
        note=f"{plan.needed} of {plan.replicas} replicas must be up to carry the load" if plan.needed <= plan.replicas
        else f"the load needs {plan.needed} replicas per layer",
    )  # fmt: skip
