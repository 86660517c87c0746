"""What each kernel reads and writes, one behind the other in a row: both cross memory."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.pictures.ends import up_to
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

Line = tuple[str, float, float]  # name, bytes read, bytes written


def traffic(lines: Sequence[Line], title: str, *, note: str = "", also: Sequence[Line] = (), id: str = "traffic") -> Figure:
    """`lines`: kernel by kernel, then their sum; `also`: rows to compare with, drawn quietly under it."""
    total: Line = ("in all", sum(line[1] for line in lines), sum(line[2] for line in lines))
    rows = [*lines, total, *also]
    quiet = {line[0] for line in also}
    marks = [m for line in rows for m in _bars(line, line[0] == total[0], line[0] in quiet)]
    words = "; ".join(f"{name} reads {format_quantity(r, 'B')}, writes {format_quantity(w, 'B')}" for name, r, w in rows)
    table = tuple(
        (name, format_quantity(r, "B"), format_quantity(w, "B"), format_quantity(r + w, "B"), exact(r + w, "B")) for name, r, w in rows
    )
    across = Axis(
        "linear", "bytes across memory", "B", (0.0, up_to(1.2 * max(r + w for _, r, w in rows)))
    )  # room for the longest bar's total
    return Figure(
        id, title, across, Axis("band", names=tuple(line[0] for line in rows)), tuple(marks), f"{words}.",
        Table(("kernel", "reads", "writes", "together", "exactly"), table), note,
        ({"colour": "memory", "label": "read"}, {"colour": "memory", "pattern": True, "label": "written"}), {"stacked": True, "row": 38},
    )  # fmt: skip


def _bars(line: Line, whole: bool, quiet: bool) -> list[Mark]:
    name, read, written = line
    marks = []
    for what, start, value in (("read", 0.0, read), ("written", read, written)):
        if not value:
            continue
        hover: list[Row] = [("kernel", name), (what, exact(value, "B"))]
        marks.append(
            mark(
                "bar", "muted" if quiet else "memory", x0=start, x1=start + value, y=name, id=f"{name}-{what}", name=what,
                pattern=what == "written", emphasis=whole, hover=hover,
            )
        )  # fmt: skip
    return [*marks, mark("label", "ink", x=read + written, y=name, id=f"{name}-total", label=format_quantity(read + written, "B"))]
