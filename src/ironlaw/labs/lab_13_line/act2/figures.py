"""Act II's pictures: P99 by rate for each policy, the two meters, and the distribution at the point."""

from __future__ import annotations

import math
from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.serving.batch_outcomes import Outcome
from ironlaw.labs.lab_13_line.act2 import local_runs
from ironlaw.labs.lab_13_line.act2.server import MODES, ONE, RATES, TIMEOUT, Case
from ironlaw.labs.policies import POLICIES
from ironlaw.pictures.ends import fitted, half_decades
from ironlaw.pictures.lines import lines, upright
from ironlaw.registry.workloads import about
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

SPAN = 1000  # the times on the axis go from one pass to so many, at the least
CLOSE = 0.3  # two points so near, as logarithms, have no room for two labels
AGAIN, NOW = 10_000.0, 1_000.0  # requests per second, of the question


def name_of(case: Case) -> str:
    return f"{about(case.model)['name']}, {MODES[case.mode]}"


def by_rate(lab: kit.Lab, case: Case, outcome: Outcome, premise: Case) -> Figure:
    """P99 of the policies over one axis, the target, and where the dials stand."""
    local = {name: kept for name, points in local_runs.points(lab).items() if (kept := [p for p in points if p[0] <= RATES[-1]])}
    own_times = [seconds for points in local.values() for _, seconds in points]
    low, high = half_decades(0.9 * min((case.alone, *own_times)), SPAN * case.alone)
    series: dict[str, list[tuple[float, float]]] = {}
    for policy, words in POLICIES.items():
        if policy != TIMEOUT or case.policy == TIMEOUT:
            points = [(rate, at.p99) for rate, at in case.with_policy(policy).curve if low <= at.p99 <= high]
            if points:
                series[words] = points
    said = _said(lab, premise, high)
    own = _point(case, outcome, high)
    if any(math.dist(*(map(math.log, dict(one.at).values()) for one in (own, other))) < CLOSE for other in said if dict(other.at)["y"]):
        own = replace(own, label="")  # the words of the prediction stand there; the figure is on its card
    extra = [_target(case, low, high), own, *said]
    if RATES[0] < case.capacity < RATES[-1]:
        extra.append(upright(case.capacity, "capacity", "capacity, in full batches", "/s"))
    now = "unbounded" if math.isinf(outcome.p99) else format_quantity(outcome.p99, "s", case.digits)
    return lines(
        series or {POLICIES[ONE]: [(1.0, case.alone)]}, Axis("log", "requests per second", "/s", (RATES[0], RATES[-1])),
        Axis("log", "time in the system", "s", (low, high)), f"P99 at {significant(case.rate)} requests per second: {now}", extra=extra,
        note=f"{name_of(case)}; {lab.current_context.label}", id="by-rate", local=local, more={"height": 380},
    )  # fmt: skip


def _target(case: Case, low: float, high: float) -> Mark:
    at = min(max(case.target, low), high)
    label = f"target {format_quantity(case.target, 's')}"
    return mark(
        "rule",
        "warn",
        y=at,
        dash=True,
        label=label,
        name="the target",
        id="target",
        hover=[("target", exact(case.target, "s"))],
        drag=hold("target", "y", per=1e-3),
    )


def _point(case: Case, outcome: Outcome, high: float) -> Mark:
    """The learner's own point; an endless queue is drawn at the top."""
    endless = math.isinf(outcome.p99)
    good = not endless and outcome.p99 <= case.target
    label = "unbounded" if endless else format_quantity(outcome.p99, "s", case.digits)
    return mark(
        "point", "good" if good else "fail", x=case.rate, y=min(outcome.p99, high), size=8, emphasis=True, id="point", name="as set",
        label=label, hover=[("requests per second", exact(case.rate)), ("P99", label)], drag=hold("rate"),
    )  # fmt: skip


def _said(lab: kit.Lab, premise: Case, high: float) -> list[Mark]:
    """What the learner said of the question's own server at ten times the rate, and what it is."""
    option = lab.choice("act2")
    if option is None:
        return []
    now, again = (replace(premise, rate=rate).outcome.p99 for rate in (NOW, AGAIN))
    truth = significant(float(lab.question("act2").answer), 2)
    said = now * float(option.value)
    above = " (above the axis)" if said > high else ""
    marks = [
        mark("point", "accent", x=AGAIN, y=min(max(said, 0.0), high), role="prediction", id="prediction", name="your prediction",
             label=f"you said {significant(float(option.value))}×{above}" if float(option.value) < 1e6 else "you said no limit",
             hover=[("your prediction", exact(float(option.value), "×"))]),
        mark("point", "ridge", x=NOW, y=min(now, high), id="now", name="at today's rate",
             label=f"today {format_quantity(now, 's', premise.digits)}", hover=[("at today's rate", exact(now, "s"))]),
    ]  # fmt: skip
    if said > 1.5 * again:
        marks.append(mark("point", "ink", x=AGAIN, y=min(again, high), shape="diamond", role="truth", id="truth", name="computed",
                          label=f"it is {truth}×: {format_quantity(again, 's', premise.digits)}",
                          hover=[("at ten times the rate", exact(again, "s"))]))  # fmt: skip
    return marks


def meters(case: Case, outcome: Outcome) -> Figure:
    """Two shares of the same server that are not the same."""
    busy, load = 100 * outcome.busy, 100 * case.load
    rows = {
        "busy: share of the time it works": (busy, "ridge"),
        "loaded: share of its capacity": (load, "fail" if load >= 100 else "compute"),
    }
    marks = [
        mark("bar", colour, x=min(value, 150.0), y=name, id=name.partition(":")[0], name=name,
             label=format_quantity(value, "%", case.digits),
             hover=[("exactly", exact(value, "%"))])
        for name, (value, colour) in rows.items()
    ]  # fmt: skip
    marks.append(mark("rule", "ridge", x=100.0, dash=True, label="all of it", name="all of it", id="all", hover=[("all of it", "100%")]))
    end = 120.0 if load <= 100 else 150.0
    words = "; ".join(f"{name} {format_quantity(value, '%', case.digits)}" for name, (value, _) in rows.items())
    table = tuple((name, format_quantity(value, "%", case.digits), exact(value, "%")) for name, (value, _) in rows.items())
    return Figure(
        "meters", "Busy is not loaded", Axis("linear", "share", "%", (0.0, end)), Axis("band", names=tuple(rows)), tuple(marks),
        f"{words}.", Table(("meter", "share", "exactly"), table), note=name_of(case),
    )  # fmt: skip


def distribution(case: Case, outcome: Outcome) -> Figure | None:
    """The share of requests that take longer than a time; none where the line grows without end."""
    if not outcome.tail:
        return None
    times = [seconds for seconds, _ in outcome.tail]
    ends = fitted([0.9 * min(case.target, *times), 1.1 * max(case.target, outcome.p99, *times)])
    points = [(seconds, 100 * share) for seconds, share in outcome.tail]
    title = f"One request in a hundred takes longer than {format_quantity(outcome.p99, 's', case.digits)}"
    return lines(
        {f"{POLICIES[case.policy]}, {significant(case.rate)} per second": points},
        Axis("log", "time in the system", "s", ends),
        Axis("log", "requests that take longer", "%", (0.1, 100.0)), title,
        extra=[
            upright(outcome.p99, "P99", "P99", "s"),
            upright(case.target, "target", "the target", "s", "warn", drag=hold("target", per=1e-3)),
        ],
        note=name_of(case), id="distribution",
    )  # fmt: skip
