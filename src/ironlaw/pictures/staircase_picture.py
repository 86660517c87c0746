"""Two staircases, arrivals and departures, and the area between them: cut into columns or into rows it is the same.

A column is a stretch of time, as high as the number in the system. A row is a request, as long as its own time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ironlaw.engine.serving.line import Run
from ironlaw.errors import unknown
from ironlaw.pictures.ends import up_to
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import exact, format_quantity

CUTS = ("columns", "rows")
SHOWN = 60  # requests that can be told apart
AREA = "s"  # request-seconds are written as seconds: the sum of everybody's


def staircase(
    run: Run, cut: str, *, tick: float = 1.0, end: float | None = None, window: tuple[float, float] | None = None, shown: int = SHOWN,
    drags: Sequence[Hold] = (),
    extra: Sequence[Mark] = (), note: str = "", id: str = "staircase", more: dict[str, Any] | None = None,
) -> Figure:  # fmt: skip
    """`tick`: seconds in one unit of the run's times. `end`: where the time axis ends, in seconds. `window`: its two edges, in seconds,
    and `drags` their dials."""
    if cut not in CUTS:
        raise unknown("cut", cut, CUTS)
    first = run.arrive[0]
    arrive, leave = ([float(t - first) * tick for t in times] for times in (run.arrive, run.leave))
    many = min(shown, len(arrive))
    last = end if end is not None else up_to(max(leave[:many]))
    gone = sorted(leave[:many])
    strips = _columns(arrive, gone, last, many) if cut == "columns" else _rows(arrive, leave, last, many)
    marks: list[Mark] = [
        mark("area", "compute", points=strip, id=f"strip-{i}", emphasis=True, deep=i % 2 == 0)
        for i, strip in enumerate(strips)
        if strip[0][0] < last
    ]
    marks += [
        mark("line", "ink", points=_steps(arrive[:many], last), name="arrivals", emphasis=True, id="arrivals"),
        mark(
            "line",
            "memory",
            points=_steps(gone, last),
            name="departures",
            dash="7 4",
            emphasis=True,
            id="departures",
        ),
    ]
    marks += [
        mark("rule", "overhead", x=edge, dash=True, label=name, name=f"the window {name}", id=f"window-{name}",
             hover=[(f"window {name}", exact(edge, "s"))], drag=drag)
        for name, edge, drag in zip(("opens", "closes"), window or (), drags or (None, None), strict=False)
        if 0 <= edge <= last
    ]  # fmt: skip
    total = f"{len(arrive):,} requests" if many == len(arrive) else f"the first {many} of {len(arrive):,} requests"
    table = tuple((str(i + 1), *(exact(float(t - first) * tick, "s") for t in (run.arrive[i], run.start[i], run.leave[i])),
                   format_quantity(leave[i] - arrive[i], "s")) for i in range(many))  # fmt: skip
    return Figure(
        id, "Arrivals and departures", Axis("linear", "time", "s", (0.0, last)), Axis("linear", "requests so far", "", (0.0, float(many))),
        (*marks, *extra), _words(run, cut, tick, total), Table(("request", "arrives", "starts", "leaves", "time in the system"), table),
        note or total, _legend(cut), {"height": 340, **(more or {})},
    )  # fmt: skip


def _steps(times: Sequence[float], end: float) -> list[tuple[float, float]]:
    """A staircase through the moments, to the last of them or to `end`."""
    points, height = [(0.0, 0.0)], 0
    for moment in times:
        if moment > end:
            break
        points += [(moment, float(height)), (moment, float(height + 1))]
        height += 1
    return points if height == len(times) else [*points, (end, float(height))]


def _columns(arrive: Sequence[float], gone: Sequence[float], end: float, many: int) -> list[list[tuple[float, float, float]]]:
    """The columns between two moments at which anything happens, from the departures up to the arrivals."""
    moments = sorted({0.0, *arrive[:many], *gone[:many], end})
    strips, came, went = [], 0, 0
    for begin, until in pairwise(moments):
        while came < many and arrive[came] <= begin:
            came += 1
        while went < many and gone[went] <= begin:
            went += 1
        if came > went and begin < end:
            strips.append([(begin, float(went), float(came)), (min(until, end), float(went), float(came))])
    return strips


def _rows(arrive: Sequence[float], leave: Sequence[float], end: float, many: int) -> list[list[tuple[float, float, float]]]:
    """Each request's own time, one above the other in the order of arrival."""
    return [[(arrive[i], float(i), i + 1.0), (min(leave[i], end), float(i), i + 1.0)] for i in range(many)]


def _words(run: Run, cut: str, tick: float, total: str) -> str:
    area, mean, inside = float(run.area_by_request) * tick, float(run.mean) * tick, float(run.in_flight)
    span, n = float(run.span) * tick, len(run.arrive)
    by = (
        f"as columns {format_quantity(inside)} in the system on average for {format_quantity(span, 's')}"
        if cut == "columns"
        else f"as rows {n:,} requests of {format_quantity(mean, 's')} each on average"
    )
    return f"Two staircases, {total}; the area between them is {format_quantity(area, AREA)} of requests' time, {by}."


def _legend(cut: str) -> tuple[dict[str, Any], ...]:
    strip = "a column: how many are in the system, and for how long" if cut == "columns" else "a row: one request, and how long it takes"
    return (
        {"colour": "ink", "shape": "line", "label": "arrivals"},
        {"colour": "memory", "shape": "line", "dash": True, "label": "departures"},
        {"colour": "compute", "shape": "strips", "label": strip},
    )
