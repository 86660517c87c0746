"""Act II's pictures: the speed-up over workers, efficiency, and the cost of a result. Axes stand still up to twice the cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ironlaw.labs.lab_12_amdahl.act2.job import EFFICIENT, MOST, Job
from ironlaw.pictures.ends import fitted, up_to
from ironlaw.pictures.lines import lines, upright
from ironlaw.units import counted, significant
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import THIN, exact, format_quantity

COUNTS = tuple(sorted({round(2 ** (k / 4)) for k in range(41)}))  # 1 to 1,024
TICKS = tuple(float(2**k) for k in range(0, 11, 2))
WORKERS = Axis("log", "workers", "", (1.0, float(MOST)), ticks=TICKS)
NEAR = 128.0  # workers, as long as the dial has no more: twice the question's cluster
LEAST_TOP = 60.0
Points = Mapping[str, Sequence[tuple[float, float]]]


def counts(job: Job) -> list[int]:
    return sorted({*COUNTS, job.workers})


def curve(job: Job, local: Points, measured: Points, measured_on: str, marks: Sequence[Mark] = ()) -> Figure:
    """S over N with the ideal, the ceiling, the peak and the target."""
    last = NEAR if job.workers <= NEAR else float(MOST)
    top = up_to(max(LEAST_TOP, job.speedup, job.target))
    x, y = Axis("linear", "workers", "", (0.0, last)), Axis("linear", "speed-up", "×", (0.0, top))
    shown = [float(n) for n in counts(job) if n <= last]
    ideal = 0.8 * min(last, top)  # its name stands clear of a mark at the top
    series = {"this job": [(n, job.speedup_on(n)) for n in shown], "ideal": [(1.0, 1.0), (ideal, ideal)]}
    extra = [mark("rule", "ink", y=job.target, label=f"target {significant(job.target)}×", name="the target", id="target",
                  hover=[("target", exact(job.target, "×"))], drag=hold("target", "y"))]  # fmt: skip
    if not job.kappa and 1 < job.ceiling < top:
        extra.append(mark("rule", "ridge", y=job.ceiling, dash=True, label=f"ceiling {format_quantity(job.ceiling, '×')}",
                          name="the ceiling", id="ceiling", hover=[("with any number of workers", exact(job.ceiling, "×"))]))  # fmt: skip
    if 1 < job.best < last:
        extra.append(upright(float(job.best), f"peak at {job.best:.0f}", "the peak", "", id="peak"))
    title = f"{counted(job.workers, 'worker')}, {significant(job.speedup)}× as fast"
    told = any(math.isclose(math.dist(dict(one.at).values(), (job.workers, job.speedup)), 0, abs_tol=1e-6) for one in marks)
    return lines(
        series, x, y, title, extra=[*extra, *marks], now=("this job", float(job.workers)), told=told, drag=hold("workers"), local=local,
        measured=measured,        measured_on=measured_on, id="scaling", more={"height": 330},
    )  # fmt: skip


def efficiency(job: Job) -> Figure:
    """Which share of the workers' time is work."""
    series = {"efficiency": [(float(n), 100 * job.speedup_on(n) / n) for n in counts(job)]}
    half = mark("rule", "ridge", y=100 * EFFICIENT, dash=True, label="half of the bill pays for waiting", name="half", id="half",
                hover=[("efficiency", exact(100 * EFFICIENT, "%"))])  # fmt: skip
    now = ("efficiency", float(job.workers))
    title = f"The workers are busy {format_quantity(100 * job.efficiency, '%')} of the time"
    return lines(series, WORKERS, Axis("linear", "efficiency", "%", (0.0, 110.0)), title, extra=[half], now=now, id="efficiency",
                 drag=hold("workers"),
                 more={"height": 330})  # fmt: skip


def cost(job: Job) -> Figure:
    """What a result costs, beside what it may cost; with the weeks as set, and without any."""
    series = {"with these weeks": [(float(n), _dollars(job.cost_on(n))) for n in counts(job)]}
    if job.weeks:
        before = replace(job, weeks=0)
        series["without a week of work"] = [(float(n), _dollars(before.cost_on(n))) for n in counts(job)]
    limit = job.alone + job.story.worth
    extra = [mark("rule", "ink", y=_dollars(limit), label=f"worth at most {limit:,.0f}{THIN}USD", name="the limit", id="limit",
                  hover=[("a result may cost", f"{limit:,.0f} USD")])]  # fmt: skip
    if 1 < job.needed <= MOST:
        extra.append(
            upright(float(job.needed), f"target from {job.needed:,.0f}", "the fewest workers that reach the target", "", id="needed")
        )
    costs = [_dollars(limit), *(cost for points in series.values() for _, cost in points)]
    dollars = Axis("log", "cost of a result", "USD", fitted([0.9 * min(costs), 1.1 * max(costs)]))
    return lines(
        series, WORKERS, dollars, f"A result costs {job.cost:,.0f}{THIN}USD", extra=extra,
        now=("with these weeks", float(job.workers)), drag=hold("workers"), id="cost", more={"height": 330},
    )  # fmt: skip


def _dollars(value: float) -> float:
    return min(1e5, max(10.0, value)) if math.isfinite(value) else 1e5
