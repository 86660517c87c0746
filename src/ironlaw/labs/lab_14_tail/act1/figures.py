"""Act I's pictures: percentiles with their bands, the stall second by second, and all requests by how long they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ironlaw.labs.lab_14_tail.act1.case import PERCENTILES, Case
from ironlaw.measure.experiments import omission
from ironlaw.pictures.ends import fitted, up_to
from ironlaw.pictures.histogram import bands, histogram
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

USERS, TESTER = "users", "tester"
WAYS = {omission.OPEN: USERS, omission.CLOSED: TESTER}
MOST = 400  # points of a line


def percentiles(case: Case, extra: Sequence[Mark], local: Mapping[tuple[float, str], tuple[float, str]]) -> Figure:
    """`local`: (percentile, who asked) -> seconds on the learner's own machine, and with what they were measured."""
    series = {USERS: case.users.ordered, TESTER: case.tester.ordered}
    own = [
        mark("point", "here", x=seconds, y=f"P{100 * p:g}, {WAYS[way]}", shape="square", id=f"here-{p:g}-{way}",
             name=f"P{100 * p:g} here, {WAYS[way]}", hover=(f"{format_quantity(seconds, 's')}, {source}",))
        for (p, way), (seconds, source) in local.items()
    ]  # fmt: skip
    drawn = bands(series, "One server, two ways of asking", domain=_times(case, [*extra, *own]), percentiles=PERCENTILES,
                  extra=[*extra, *own], id="percentiles")  # fmt: skip
    told = "; ".join(f"P{100 * p:g} here, {WAYS[way]}: {format_quantity(seconds, 's')}" for (p, way), (seconds, _) in local.items())
    return replace(drawn, text=f"{drawn.text} {told}.") if own else drawn


def _times(case: Case, marks: Sequence[Mark] = ()) -> tuple[float, float]:
    """From the shortest to the longest, in round figures."""
    asked = [each.ordered[i] for each in (case.users, case.tester) for i in (0, -1)] + [float(dict(one.at)["x"]) for one in marks]
    return fitted([0.9 * min(asked), 1.1 * max(asked)])


def requests(case: Case) -> Figure:
    series = {USERS: case.users.ordered, TESTER: case.tester.ordered}
    return histogram(
        series, "All requests, by how long they took", domain=_times(case), left_out="users, over twice the tester's share", id="requests"
    )


def levels(marks: Sequence[Mark]) -> list[Mark]:
    """Upright rules, laid down: for a picture with the time to the answer upwards."""
    return [replace(one, at=(("y", dict(one.at)["x"]),)) for one in marks]


def triangle(case: Case, extra: Sequence[Mark] = ()) -> Figure:
    """Requests around the first stall: when they were sent, and how long their answer took."""
    start, length = case.stalls.first, case.stall
    reach = 2.5 * up_to(max(length, 20 * case.service, 5 / case.rate))
    begin, end = start - reach / 5, start + 4 * reach / 5
    users = [(at - start, took) for at, took in zip(case.users.sent, case.users.seconds, strict=True) if begin <= at <= end]
    polite = [(at - start, took) for at, took in zip(case.polite.sent, case.polite.seconds, strict=True) if begin <= at <= end]
    if not users:
        users, polite = [(0.0, 0.0)], []
    top = 1.25 * up_to(max(length, 2 * case.service, *(float(dict(one.at)["x"]) for one in extra)))
    still = "the server stands still"
    marks = [
        mark("area", "warn", x0=0.0, x1=max(length, 1e-9), y0=0.0, y1=top, name=still, id="stall"),
        mark("line", "accent", points=_thinned(users), name=USERS, emphasis=True, id="users"),
        *(_sent(i, at, took) for i, (at, took) in enumerate(_seen(polite, case.service))),
    ]
    rows = tuple(
        (format_quantity(at, "s"), name, format_quantity(took, "s"))
        for name, points in ((USERS, users), (TESTER, polite))
        for at, took in _thinned(points, 24)
    )
    waited, polite_waited = (sum(took > 2 * case.service for _, took in points) for points in (users, polite))
    longest = format_quantity(max(took for _, took in users), "s")
    words = (
        f"Around a stall of {format_quantity(length, 's')}: {waited:,} requests of users wait, the longest {longest}; "
        f"of the tester's, {polite_waited:,}."
    )
    title = f"{_people(waited)} wait for one stall, and the tester counts {polite_waited:,}"
    legend = (
        {"colour": "accent", "shape": "line", "label": "users, on schedule"},
        {"colour": "ink", "shape": "square", "label": "tester, after each answer"},
        {"colour": "warn", "shape": "square", "label": still},
    )
    return Figure(
        "triangle", title,
        Axis("linear", "since the server stopped", "s", (-reach / 5, 4 * reach / 5)), Axis("linear", "time to the answer", "s", (0.0, top)),
        (*marks, *levels(extra)), words, Table(("sent", "by", "answered after"), rows), legend=legend, more={"height": 330},
    )  # fmt: skip


def _people(count: int) -> str:
    return "1 user" if count == 1 else f"{count:,} users"


def _sent(i: int, at: float, took: float) -> Mark:
    hover = [("sent", exact(at, "s")), ("answered after", exact(took, "s"))]
    return mark("point", "ink", x=at, y=took, shape="square", size=5, name=TESTER, id=f"tester-{i}", hover=hover)


def _seen(points: Sequence[tuple[float, float]], service: float) -> list[tuple[float, float]]:
    """Some of the quick answers, and every slow one."""
    slow = [(at, took) for at, took in points if took > 2 * service]
    return sorted([*_thinned([(at, took) for at, took in points if took <= 2 * service], 40), *_thinned(slow, 80)])


def _thinned(points: Sequence[tuple[float, float]], most: int = MOST) -> list[tuple[float, float]]:
    step = -(-len(points) // most) or 1
    return [*points[::step], *points[-1:]] if len(points) > most else list(points)
