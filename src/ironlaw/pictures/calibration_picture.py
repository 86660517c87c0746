"""Confidence against correctness: a point for each level of confidence, and the line on which the two agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import percent

WHOLE = (0.0, 100.0)
ROOM = (-8.0, 108.0)  # the largest point at either end touches no figure of an axis
TICKS = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
NEAR = 0.1  # within this distance counts as on the line


class Row(Protocol):
    """The answers given at one confidence, 1 to 5."""

    @property
    def confidence(self) -> int: ...
    @property
    def stated(self) -> float: ...
    @property
    def answers(self) -> int: ...
    @property
    def right(self) -> int: ...
    @property
    def share(self) -> float | None: ...


def calibration(rows: Sequence[Row], id: str = "calibration") -> Figure:
    """On the line, answers at 80% confidence were right in 80% of cases; below it the learner was overconfident."""
    line = mark("line", "ridge", points=(WHOLE[:1] * 2, WHOLE[1:] * 2), dash="6 4", label="as sure as right", along=True, id="ideal")
    marks = [
        line,
        *(_interval(row) for row in rows if getattr(row, "interval", None)),
        *(_point(row) for row in rows if row.share is not None),
    ]
    x, y = Axis("linear", "stated", "%", ROOM, ticks=TICKS), Axis("linear", "were right", "%", ROOM, ticks=TICKS)
    table = Table(("confidence", "stands for", "answers", "right", "were right"), tuple(_cells(row) for row in rows))
    return Figure(id, "Confidence against correctness", x, y, tuple(marks), _words(rows), table, more={"height": 340})


def verdict(row: Row) -> str:
    """too sure, not sure enough, or about right."""
    if row.share is None:
        return "no answers"
    return "too sure" if row.stated - row.share > NEAR else "not sure enough" if row.share - row.stated > NEAR else "about right"


def _point(row: Row) -> Mark:
    assert row.share is not None
    count = f"{row.right} of {row.answers}"
    side = verdict(row)
    hover = [("stated", percent(row.stated)), ("right", f"{count}, {percent(row.share)}"), ("so", side)]
    colour, shape = {"too sure": ("warn", "triangle"), "about right": ("good", "circle")}.get(side, ("accent", "diamond"))
    return mark(
        "point", colour, x=100 * row.stated, y=100 * row.share, shape=shape, size=5 + 2.5 * min(row.answers, 16) ** 0.5, label=count,
        name=f"confidence {row.confidence}", id=f"c{row.confidence}", hover=hover,
    )  # fmt: skip


def _interval(row: Row) -> Mark:
    """Where the true share lies with 95% confidence, where a row says so."""
    low, high = getattr(row, "interval")  # noqa: B009 - only some rows have one
    hover = [("true share, 95% sure", f"{percent(low)} to {percent(high)}")]
    x = 100 * row.stated
    return mark("line", "ridge", points=((x, 100 * low), (x, 100 * high)), id=f"i{row.confidence}", name=f"confidence {row.confidence}",
                hover=hover)  # fmt: skip


def _cells(row: Row) -> tuple[str, ...]:
    share = percent(row.share) if row.share is not None else "–"
    return str(row.confidence), percent(row.stated), str(row.answers), str(row.right), share


def _words(rows: Sequence[Row]) -> str:
    sentences = [
        f"confidence {row.confidence}, which stands for {percent(row.stated)}: {row.right} of {row.answers} right, {verdict(row)}"
        for row in rows
        if row.answers
    ]
    return ("; ".join(sentences) if sentences else "No answers yet; the line is where confidence and correctness agree") + "."
