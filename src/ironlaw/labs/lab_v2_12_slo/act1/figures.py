"""Act I's pictures: how long one call and the whole take, how often they are over, the learner's answer, and the machine's own calls."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from ironlaw import kit
from ironlaw.engine.serving.laws import Law
from ironlaw.engine.serving.sums import Total
from ironlaw.engine.serving.tails import at_least_one
from ironlaw.labs.lab_v2_12_slo.act1 import local_runs
from ironlaw.labs.lab_v2_12_slo.act1.composition import COUNTS, MOST_CALLS, Setting, in_a_row
from ironlaw.pictures.beside import Measurement
from ironlaw.pictures.ends import decades, fitted, up_to
from ironlaw.pictures.lines import lines
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

BINS = 16  # in a decade
ROWS = 4  # of them in a row of the table
LOWEST = 1e-4  # of the highest time that is drawn: what is faster does not matter here
LEAST, SMALLEST = 1e-5, 1e-4  # percent: the foot of the axis, and what is still written out
ONE, WHOLE, ROW, SOME = "one call", "the whole", "a row over the sum of limits", "any call over its own limit"


def density(setting: Setting, extra: tuple[Mark, ...] = (), id: str = "density", title: str = "One call, and the whole request") -> Figure:
    """Percent of the requests in each sixteenth of a decade; the quantile of each as a rule, and the sum of the limits."""
    low, high = domain(setting)
    marks: list[Mark] = []
    series = {ONE: shares(setting.one, low, high), WHOLE: shares(setting.whole, low, high)}
    for name, colour in ((ONE, "memory"), (WHOLE, "accent")):
        points = [(at, 0.0, share) for at, share in series[name]]
        marks.append(mark("area", colour, points=points, id=f"area-{name}", name=name))
        marks.append(mark("line", colour, points=series[name], id=f"line-{name}", name=name, emphasis=name == WHOLE,
                          dash="7 4" if name == ONE else None))  # fmt: skip
        at, _, share = max(points, key=lambda point: point[2])
        marks.append(mark("label", colour, x=at, y=share, label=name, id=f"name-{name}"))
    rules = {ONE: (setting.single, "memory"), WHOLE: (setting.seconds, "accent"), "sum": (setting.added, "ridge")}
    names = {ONE: f"{setting.name} of one", WHOLE: f"{setting.name} of the whole", "sum": "sum of the limits"}
    told = {f"{dict(one.at)['x']:.4g}" for one in extra}  # where the truth says it already
    shown = [name for name in rules if name != "sum" or setting.added > 1.001 * setting.single]
    shown = [name for name in shown if name != WHOLE or f"{rules[name][0]:.4g}" not in told]
    marks += [
        mark("rule", rules[name][1], x=min(rules[name][0], high), dash=name != WHOLE, id=f"rule-{name}", name=names[name],
             label=f"{names[name]} {format_quantity(rules[name][0], 's')}", hover=[(names[name], exact(rules[name][0], "s"))],
             drag=hold("p99", per=1e-3 * setting.single / setting.p99) if name == ONE else None)
        for name in shown
    ]  # fmt: skip
    words = (
        f"{setting.name} of one call is {format_quantity(setting.single, 's')}, of the whole {format_quantity(setting.seconds, 's')}; "
        f"the limits of all services add up to {format_quantity(setting.added, 's')}."
    )
    columns = [[sum(share for _, share in points[i : i + ROWS]) for i in range(0, len(points), ROWS)] for points in series.values()]
    cells = [
        (f"around {format_quantity(at, 's')}", f"{significant(one)}%", f"{significant(whole)}%")
        for (at, _), one, whole in zip(series[ONE][ROWS // 2 :: ROWS], *columns, strict=False)
    ]
    top = min(100.0, up_to(1.15 * max(share for points in series.values() for _, share in points)))
    return Figure(
        id, title, Axis("log", "time to the answer", "s", (low, high)), Axis("linear", "share of requests", "%", (0.0, top)),
        (*marks, *extra), words, table=Table(("time", ONE, WHOLE), tuple(cells)), more={"height": 340},
    )  # fmt: skip


def domain(setting: Setting) -> tuple[float, float]:
    """Whole decades, so that the axis stands still while a dial moves what is on it."""
    low, high = decades(setting.one.quantile(0.1), 1.3 * max(setting.seconds, setting.added))
    return max(low, LOWEST * high), high


@lru_cache(maxsize=64)
def shares(law: Law, low: float, high: float) -> tuple[tuple[float, float], ...]:
    """(middle of a bin, percent in it)."""
    count = round(BINS * math.log10(high / low))
    edges = [low * (high / low) ** (i / count) for i in range(count + 1)]
    tails = _tails(law, edges)
    return tuple(
        (math.sqrt(a * b), 100 * max(0.0, before - after)) for a, b, before, after in zip(edges, edges[1:], tails, tails[1:], strict=False)
    )


def _tails(law: Law, times: list[float]) -> list[float]:
    """The last decade apart from the others, and of many the one before, too: a sum's steps are as fine as the last time that is asked
    for allows."""
    if not isinstance(law, Total):
        return [law.tail(t) for t in times]
    cuts = [cut for cut in (len(times) - 1 - 2 * BINS, len(times) - 1 - BINS) if cut > (BINS if cut < len(times) - 1 - BINS else 0)]
    return [tail for a, b in pairwise([0, *cuts, len(times)]) for tail in law.tails(times[a:b])]


def over(setting: Setting) -> Figure:
    """Percent over the limits by the number of calls, log-log: the row's own, and the share in which some call is over its own."""
    late = 1.0 - setting.p
    series = {
        ROW: [(count, 100 * share) for count, share in in_a_row(replace(setting, steps=1, calls=1)) if 100 * share >= LEAST],
        SOME: [(count, 100 * at_least_one(late, count)) for count in COUNTS],
    }
    at = min(max(setting.count, 1), MOST_CALLS)
    own = mark("point", "accent", x=at, y=max(100 * setting.over, LEAST), size=8, id="now", name="as set", label=share_over(setting.over),
               hover=[("calls", f"{setting.count:,}"), ("over the sum of the limits", exact(100 * setting.over, "%"))],
               drag=hold("steps", per=setting.count / setting.steps))  # fmt: skip
    heights = [100 * late, 100.0, 100 * setting.over, *(share for points in series.values() for _, share in points)]
    allowed = mark("rule", "good", y=100 * late, dash=True, id="allowed", label=f"allowed {significant(100 * late)}%", name="allowed")
    return lines(
        series, Axis("log", "calls", "", (1.0, float(MOST_CALLS))), Axis("log", "over", "%", fitted(heights, (LEAST, 100.0))),
        "How many requests are over the limits", extra=[allowed, own], id="over", more={"height": 340},
        note="a page of parallel calls is late if any call is late",
    )  # fmt: skip


def share_over(share: float) -> str:
    return format_quantity(100 * share, "%") if 100 * share >= SMALLEST else f"under {significant(SMALLEST)}%"


def here(run: kit.Measured) -> Figure:
    """P99s on the learner's machine: one call, five in a row, five independent draws, five times one."""
    bars = []
    for each in local_runs.chains(run):
        where = f"beside {each.neighbours}" if each.neighbours else "alone"
        named = {"one": each.one, "five in a row": each.chain, "five at random": each.independent, "five times one": each.added}
        bars += [Measurement(f"{name}, {where}", seconds, "s", run.source) for name, seconds in named.items()]
    values = "; ".join(f"{bar.name} {format_quantity(bar.value, 's')}" for bar in bars)
    table = tuple((bar.name, format_quantity(bar.value, "s"), exact(bar.value, "s")) for bar in bars)
    most = max(bar.value for bar in bars)
    return Figure(
        "here", "P99 on this machine", Axis("linear", "P99", "s", (0.0, up_to(1.2 * most))),
        Axis("band", names=tuple(bar.name for bar in bars)),
        tuple(each for bar in bars for each in bar.marks), f"{values}.",
        table=Table(("calls", "P99", "exactly"), table), note=run.source, more={"stacked": True, "row": 34},
    )  # fmt: skip
