"""Who sends to whom, and when: a line for each message from its sender to its receiver, over time.

Time is a share of a whole, so that the axis stands still while sizes and rates change.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.cluster.schedules import Schedule
from ironlaw.errors import BadValue
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import format_quantity, share

ADDED, KEPT = "overhead", "memory"  # what arrives is added to the receiver's own, or kept in its place

LEGEND = (
    {"colour": ADDED, "shape": "line", "label": "a partial sum, added on arrival"},
    {"colour": KEPT, "shape": "line", "label": "the whole sum"},
)  # fmt: skip


def spacetime(
    schedule: Schedule, ends: Sequence[float], ranks: Sequence[str], size: float, title: str, *, whole: float, now: float | None = None,
    drag: Hold | None = None,
    note: str = "", id: str = "spacetime",
) -> Figure:  # fmt: skip
    """`ends`: seconds at which each step is over; `ranks`: their names, in order; `size`: bytes of the buffer; `whole`: seconds that the
    axis stands for; `now`: seconds at which an upright rule stands."""
    if len(ends) != len(schedule.steps) or not ends:
        raise BadValue(f"{title}: {len(ends)} ends for {len(schedule.steps)} steps; give the end of each, and at least one")
    marks: list[Mark] = [
        mark("line", "muted", points=[(0.0, float(i)), (100.0, float(i))], id=f"rank-{i}", thin=True) for i in range(len(ranks))
    ]
    begins = (0.0, *ends)
    rows = []
    part = size / schedule.parts
    for i, step in enumerate(schedule.steps):
        left, right = 100 * begins[i] / whole, 100 * ends[i] / whole
        for send in step:
            colour = ADDED if send.add else KEPT
            marks.append(
                mark(
                    "line", colour, points=[(left, float(send.source)), (right, float(send.target))], id=f"{i}-{send.source}-{send.target}"
                )
            )
        sent = [len(send.parts) * part for send in step]
        rows.append(
            (
                str(i + 1), ", ".join(f"{ranks[send.source]} to {ranks[send.target]}" for send in step), format_quantity(max(sent), "B"),
                format_quantity(sum(sent), "B"), format_quantity(ends[i] - begins[i], "s"), share(ends[i], whole),
            )
        )  # fmt: skip
    if now is not None:
        hover = [("now", format_quantity(now, "s"))]
        marks.append(mark("rule", "accent", x=100 * now / whole, id="now", label="now", name="now", hover=hover, drag=drag))
    largest = max(len(send.parts) for step in schedule.steps for send in step) * part
    text = (
        f"{len(ends)} steps over {len(ranks)} ranks in {format_quantity(ends[-1], 's')}, {share(ends[-1], whole)} of the axis;"
        f" {sum(map(len, schedule.steps))} messages, at most {format_quantity(largest, 'B')} each."
    )
    return Figure(
        id, title, Axis("linear", "time", "%", (0.0, 100.0)),
        Axis("linear", "rank", domain=(-0.6, len(ranks) - 0.4), ticks=tuple(float(i) for i in range(len(ranks)))), tuple(marks), text,
        Table(("step", "from, to", "each", "on the wires at once", "takes", "ends at"), tuple(rows)), note,
        LEGEND, {"height": 340},
    )  # fmt: skip
