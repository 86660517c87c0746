"""What each kernel reads and writes, as two bars a row."""

from __future__ import annotations

from collections.abc import Sequence

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
    return Figure(
        id, title, Axis("linear", "bytes across memory", "B"), Axis("band", names=tuple(line[0] for line in rows)), tuple(marks),
        f"{words}.", Table(("kernel", "reads", "writes", "together", "exactly"), table), note,
        ({"colour": "memory", "label": "read"}, {"colour": "memory", "pattern": True, "label": "written"}), {"row": 38},
    )  # fmt: skip


def _bars(line: Line, whole: bool, quiet: bool) -> list[Mark]:
    name = line[0]
    marks = []
    for i, (what, value) in enumerate((("read", line[1]), ("written", line[2]))):
        hover: list[Row] = [("kernel", name), (what, exact(value, "B"))]
        # written once a row: on a phone the words of both bars share a place
        both = f"{format_quantity(line[1], 'B')} + {format_quantity(line[2], 'B')}"
        marks.append(
            mark(
                "bar", "muted" if quiet else "memory", x=value, y=name, slot=[i, 2], id=f"{name}-{what}", name=f"{name}: {what}",
                label=both if what == "read" else "", pattern=what == "written", emphasis=whole, hover=hover,
            )
        )  # fmt: skip
    return marks
