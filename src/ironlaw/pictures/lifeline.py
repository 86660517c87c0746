"""A job's day: useful work, saves, work that was lost, restarts, in rows one under the other like lines of a text, up to a moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ironlaw.engine.cluster.job_timeline import Stretch, shares
from ironlaw.errors import BadValue
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import THIN, format_quantity, share

HOUR = 3600.0
BARS = 300  # that stay quick to draw; beyond, cells show what takes most of them
CELLS = 144  # of a row
# kind -> (in the legend, colour, hatched)
LOOK = {
    "work": ("useful work", "compute", False), "save": ("saving", "memory", False), "lost": ("lost work", "fail", True),
    "restart": ("detecting and restarting", "overhead", False),
}  # fmt: skip


def lifeline(
    stretches: Sequence[Stretch], span: float, until: float, *, rows: int = 4, title: str = "A day of the job", note: str = "",
    id: str = "day",
) -> Figure:  # fmt: skip
    """`until`: seconds that have passed; the rest of the `span` is still to come."""
    if not stretches or span <= 0.0:
        raise BadValue(f"{title}: no stretch to draw; give a job that runs for some time")
    each = span / rows
    names = tuple(f"{significant(i * each / HOUR)} to {significant((i + 1) * each / HOUR)} h" for i in range(rows))
    passed = list(_up_to(stretches, until))
    drawn = passed if len(passed) <= BARS else list(cells(passed, each / CELLS))
    marks: list[Mark] = []
    for stretch in drawn:
        for row, start, end in _lines(stretch, each, rows):
            about, colour, pattern = LOOK[stretch.kind]
            hover = [("from", format_quantity(stretch.start, "s")), ("for", format_quantity(stretch.end - stretch.start, "s"))]
            marks.append(
                mark("bar", colour, x0=start / HOUR, x1=end / HOUR, y=names[row], name=about, pattern=pattern, hover=hover,
                     id=f"{stretch.kind}-{row}-{start:.0f}")
            )  # fmt: skip
    if until < span:  # at the end it would cover the last stretch, and nothing is still to come
        row = int(until / each)
        marks.append(mark("point", "accent", x=(until - row * each) / HOUR, y=names[row], size=7, id="moment", name="this moment"))
    words, table = _words(passed, until)
    legend = tuple({"colour": colour, "pattern": pattern, "label": about} for about, colour, pattern in LOOK.values())
    more = {"stacked": True, "row": 40}
    return Figure(id, title, Axis("linear", "hours into the row", "", (0.0, each / HOUR)), Axis("band", names=names), tuple(marks),
                  words, table, note, legend, more)  # fmt: skip


def _up_to(stretches: Iterable[Stretch], until: float) -> Iterator[Stretch]:
    for stretch in stretches:
        if stretch.start < until:
            yield stretch._replace(end=min(stretch.end, until))


def _lines(stretch: Stretch, each: float, rows: int) -> Iterator[tuple[int, float, float]]:
    """(row, from, to) of every line that a stretch is on."""
    first = int(stretch.start / each)
    for row in range(first, min(rows, int(stretch.end / each) + 1)):
        start, end = max(stretch.start, row * each) - row * each, min(stretch.end, (row + 1) * each) - row * each
        if end > start:
            yield row, start, end


def cells(stretches: Sequence[Stretch], width: float) -> Iterator[Stretch]:
    """Cells of one width, each of the kind that takes most of it; equal neighbours as one."""
    end = stretches[-1].end
    spent: list[dict[str, float]] = [{} for _ in range(int(end / width) + 1)]
    for stretch in stretches:
        for cell in range(int(stretch.start / width), int(stretch.end / width) + 1):
            part = min(stretch.end, (cell + 1) * width) - max(stretch.start, cell * width)
            spent[cell][stretch.kind] = spent[cell].get(stretch.kind, 0.0) + max(0.0, part)
    kinds = [max(cell, key=lambda kind: cell[kind]) for cell in spent if cell]
    start = 0
    for i in range(1, len(kinds) + 1):
        if i == len(kinds) or kinds[i] != kinds[start]:
            yield Stretch(kinds[start], start * width, min(i * width, end))
            start = i


def _words(passed: Sequence[Stretch], until: float) -> tuple[str, Table]:
    if not passed:
        return "The job begins.", Table(("what", "time", "share"), (("nothing yet", "0 s", "0%"),))
    spent = shares(passed)
    parts = {"work": spent.goodput, "save": spent.writing, "lost": spent.lost, "restart": spent.restart}
    rows = tuple(
        (
            LOOK[kind][0],
            format_quantity(float(part) * until, "s") if part else f"0{THIN}s",
            share(float(part), 1.0) if part else "0%",
        )
        for kind, part in parts.items()
    )
    now = LOOK[passed[-1].kind][0]
    text = f"After {format_quantity(until, 's')}: " + ", ".join(f"{name} {part}" for name, _, part in rows) + f". At this moment: {now}."
    return text, Table(("what", "time", "share"), rows)
