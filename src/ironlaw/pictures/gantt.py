"""A pipeline over time: a row for each stage, microbatches forward and backward, and the time in which a stage waits."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.cluster.pipeline_timeline import BACKWARD, FORWARD, IDLE, IN_TURN, Stretch, idle_share
from ironlaw.errors import BadValue
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import Hold
from ironlaw.widget.quantities import exact, format_quantity, share

STAGES = 16  # rows that a screen has room for
COLOURS = {FORWARD: "compute", BACKWARD: "memory", IN_TURN: "ridge", IDLE: "muted"}  # waiting is what is not there: work stands out
WORDS = {FORWARD: "forward", BACKWARD: "backward", IN_TURN: "forward and backward in turn", IDLE: "waits"}


def gantt(
    rows: Sequence[Stretch], title: str, *, now: float = 1.0, unit: str = "s", label: str = "time", note: str = "", id: str = "gantt",
    drag: Hold | None = None, stages_drag: Hold | None = None,
) -> Figure:  # fmt: skip
    """`rows`: of every stage from 0 to the end, in `unit`. `now`: the share of the step that has passed; later work is not drawn.
    `drag`: the dial of the moment, `stages_drag`: that of the number of stages, which the foot of the last one then stands for."""
    if not rows:
        raise BadValue(f"{title}: there is no stretch to draw; give the schedule of at least one stage")
    end, stages = round(max(row.end for row in rows), 9), 1 + max(row.stage for row in rows)
    shown = picked(stages)
    until = max(0.0, min(1.0, now)) * end
    marks = [_bar(row, until, i, unit) for i, row in enumerate(rows) if row.stage in shown and row.start < until]
    if now < 1.0:
        marks.append(mark("rule", "ink", x=until, dash=True, id="now", name="now", label=format_quantity(until, unit), drag=drag))
    if stages_drag and len(shown) == stages:
        marks.append(mark("rule", "muted", y=name(stages - 1), edge=True, id="stages", name="the last stage", drag=stages_drag))
    kinds = dict.fromkeys(row.kind for row in sorted(rows, key=lambda row: list(COLOURS).index(row.kind)))
    legend = tuple({"colour": COLOURS[kind], "pattern": kind == IDLE, "label": WORDS[kind]} for kind in kinds)
    left_out = f"; {stages - len(shown)} stages between them are not drawn" if len(shown) < stages else ""
    return Figure(
        id, title, Axis("linear", label, unit, (0.0, end)), Axis("band", names=tuple(name(stage) for stage in shown)),
        tuple(marks) or (mark("rule", "ink", x=0.0, id="now", name="now"),), _words(rows, until, stages, unit),
        _table(rows, stages, end, unit),
        (note + left_out).lstrip("; "), legend, {"stacked": True},
    )  # fmt: skip


def name(stage: int) -> str:
    return f"stage {stage + 1}"


def picked(stages: int) -> list[int]:
    """All stages, or as many as there is room for, the first and the last among them."""
    if stages <= STAGES:
        return list(range(stages))
    return sorted({round(i * (stages - 1) / (STAGES - 1)) for i in range(STAGES)})


def _bar(row: Stretch, until: float, i: int, unit: str) -> Mark:
    seconds = row.end - row.start
    hover = [("stage", str(row.stage + 1)), (WORDS[row.kind], exact(seconds, unit)), ("from", format_quantity(row.start, unit))]
    return mark(
        "bar", COLOURS[row.kind], x0=row.start, x1=min(row.end, until), y=name(row.stage), id=f"bar-{i}", pattern=row.kind == IDLE,
        hover=hover if row.slots != 1 else (),
    )  # fmt: skip


def _words(rows: Sequence[Stretch], until: float, stages: int, unit: str) -> str:
    busy = sum(row.kind != IDLE and row.start < until <= row.end for row in rows)
    text = f"{stages} stage{'s' if stages > 1 else ''}: together they wait {significant(100 * idle_share(tuple(rows)))}% of the time"
    return f"{text}; at {format_quantity(until, unit)} {busy} of them work{'s' if busy == 1 else ''}."


def _table(rows: Sequence[Stretch], stages: int, end: float, unit: str) -> Table:
    lines = []
    for stage in range(stages):
        mine = [row for row in rows if row.stage == stage]
        idle = sum(row.end - row.start for row in mine if row.kind == IDLE)
        work = [row for row in mine if row.kind != IDLE]
        lines.append(
            (
                name(stage),
                format_quantity(work[0].start, unit),
                format_quantity(work[-1].end, unit),
                format_quantity(idle, unit),
                share(idle, end),
            )
        )
    return Table(("stage", "begins", "ends", "waits", "of the step"), tuple(lines))
